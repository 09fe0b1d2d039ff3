/* The module: opening, closing, printing, verifying, and MLIR's messages. */
#include "dsl/ir/ir.h"

#include "dsl/ir/internal.h"

#include <mlir-c/Diagnostics.h>
#include <stdlib.h>
#include <string.h>

MlirStringRef cz_ir_str(const char *string)
{
    return mlirStringRefCreateFromCString(string ? string : "");
}

const char *cz_ir_cstr(MlirStringRef string)
{
    return string.length > 0 ? string.data : "";
}

/* A callback of MLIR's printers: appends to the cz_text behind `text`. */
static void put_string(MlirStringRef string, void *text)
{
    cz_text_put(text, string.data, string.length);
}

MlirContext cz_ir_context(const cz_ir *ir)
{
    return ir->context;
}

MlirModule cz_ir_module(const cz_ir *ir)
{
    return ir->module;
}

/* ---- messages ---- */

void cz_ir_put_place(cz_text *out, MlirLocation location)
{
    while (mlirLocationIsAName(location))
        location = mlirLocationNameGetChildLoc(location);
    if (!mlirLocationIsAFileLineColRange(location))
        return;
    const MlirIdentifier file =
        mlirLocationFileLineColRangeGetFilename(location);
    const char *name = cz_ir_cstr(mlirIdentifierStr(file));
    cz_text_printf(out, " (%s:%d:%d)", strcmp(name, "-") == 0 ? "IR" : name,
                   mlirLocationFileLineColRangeGetStartLine(location),
                   mlirLocationFileLineColRangeGetStartColumn(location));
}

static void put_message(cz_text *out, MlirDiagnostic diagnostic)
{
    mlirDiagnosticPrint(diagnostic, put_string, out);
    cz_ir_put_place(out, mlirDiagnosticGetLocation(diagnostic));
}

/* MLIR adds the whole operation, which may be a table of megabytes. */
static bool is_dump(const char *note)
{
    static const char start[] = "see current operation";
    return strncmp(note, start, sizeof start - 1) == 0;
}

static void report_notes(cz_diags *diags, MlirDiagnostic diagnostic)
{
    const intptr_t n = mlirDiagnosticGetNumNotes(diagnostic);
    for (intptr_t i = 0; i < n; i++) {
        cz_text text;
        cz_text_init(&text);
        put_message(&text, mlirDiagnosticGetNote(diagnostic, i));
        if (!is_dump(cz_text_string(&text)))
            cz_diag_note(diags, (cz_span){0}, "%s", cz_text_string(&text));
        cz_text_fini(&text);
    }
}

/* Remarks and warnings of MLIR speak about nothing that our users wrote. */
static MlirLogicalResult on_diagnostic(MlirDiagnostic diagnostic, void *user)
{
    const cz_ir *ir = user;
    if (mlirDiagnosticGetSeverity(diagnostic) != MlirDiagnosticError)
        return mlirLogicalResultSuccess();
    cz_text text;
    cz_text_init(&text);
    put_message(&text, diagnostic);
    cz_diag_error(ir->diags, CZ_BAD_IR, (cz_span){0}, "%s",
                  cz_text_string(&text));
    cz_text_fini(&text);
    report_notes(ir->diags, diagnostic);
    return mlirLogicalResultSuccess();
}

/* ---- lifetime ---- */

cz_ir *cz_ir_open(cz_diags *diags)
{
    cz_ir *ir = calloc(1, sizeof *ir);
    if (!ir)
        abort();
    ir->diags = diags;
    ir->context = mlirContextCreateWithThreading(false);
    mlirContextAttachDiagnosticHandler(ir->context, on_diagnostic, ir, NULL);
    if (!cz_ir_load_dialects(ir->context)) {
        cz_ir_close(ir);
        return NULL;
    }
    ir->module = mlirModuleCreateEmpty(mlirLocationUnknownGet(ir->context));
    return ir;
}

cz_ir *cz_ir_copy(const cz_ir *ir)
{
    cz_ir *copy = calloc(1, sizeof *copy);
    if (!copy)
        abort();
    *copy = *ir;
    copy->is_copy = true;
    copy->module = mlirModuleFromOperation(
        mlirOperationClone(mlirModuleGetOperation(ir->module)));
    return copy;
}

void cz_ir_close(cz_ir *ir)
{
    if (!ir)
        return;
    if (!mlirModuleIsNull(ir->module))
        mlirModuleDestroy(ir->module);
    if (!ir->is_copy)
        mlirContextDestroy(ir->context);
    free(ir);
}

void cz_ir_set_diags(cz_ir *ir, cz_diags *diags)
{
    ir->diags = diags;
}

void cz_ir_print(const cz_ir *ir, cz_text *out)
{
    MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
    mlirOpPrintingFlagsAssumeVerified(flags);
    mlirOperationPrintWithFlags(mlirModuleGetOperation(ir->module), flags,
                                put_string, out);
    mlirOpPrintingFlagsDestroy(flags);
}

bool cz_ir_verify(cz_ir *ir)
{
    const int before = ir->diags->n_errors;
    if (mlirOperationVerify(mlirModuleGetOperation(ir->module)))
        return cz_ir_check_schema(ir, ir->diags);
    if (ir->diags->n_errors == before)
        cz_diag_error(ir->diags, CZ_BAD_IR, (cz_span){0},
                      "the IR is not well formed");
    return false;
}
