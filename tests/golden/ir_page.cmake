# The tables of the page of the IR are what the .def files say.
cz_script(ir_page golden 60 golden/ir_page.py)
cz_script(ir_page_sees golden 60 golden/ir_page.py --self-test)
