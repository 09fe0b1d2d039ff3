# What `make bench-parse` measures with.
cz_tool(parse_speed cz_frontend)
