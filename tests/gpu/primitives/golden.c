/* Vectors as files: a line of text, then words, the lowest byte first. */
#include "tests/gpu/primitives/primitives.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PATH = 1024, MAX_LINE = 512 };

static const char format[] = "canzona primitive 2; %s; seed %llu; %u words";

static void make_path(char path[MAX_PATH], const char *folder, int which)
{
    snprintf(path, MAX_PATH, "%s/%s.words", folder, primitives[which].name);
}

bool primitives_write(const char *folder, int which, uint64_t seed,
                      const primitives_device *device, const uint32_t *out)
{
    const primitive *p = &primitives[which];
    char path[MAX_PATH];

    make_path(path, folder, which);
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    fprintf(file, format, p->name, (unsigned long long)seed, p->n_out);
    fprintf(file, "; %s; CUDA %d.%d\n", device->name, device->version / 1000,
            device->version % 1000 / 10);
    for (unsigned i = 0; i < p->n_out; i++)
        for (int shift = 0; shift < 32; shift += 8)
            fputc((int)(out[i] >> shift & 255), file);
    const bool is_written = !ferror(file);
    return !fclose(file) && is_written;
}

/* The line's beginning is the case's; what follows it is `of`. */
static bool read_line(FILE *file, int which, uint64_t seed, char *of,
                      size_t of_bytes)
{
    char wanted[MAX_LINE], line[MAX_LINE];

    snprintf(wanted, sizeof wanted, format, primitives[which].name,
             (unsigned long long)seed, primitives[which].n_out);
    if (!fgets(line, sizeof line, file) ||
        strncmp(line, wanted, strlen(wanted)) != 0 ||
        strncmp(line + strlen(wanted), "; ", 2) != 0)
        return false;
    line[strcspn(line, "\n")] = 0;
    snprintf(of, of_bytes, "%s", line + strlen(wanted) + 2);
    return true;
}

bool primitives_read(const char *folder, int which, uint64_t seed, char *of,
                     size_t of_bytes, uint32_t *out, primitives_outcome *state)
{
    const unsigned n = primitives[which].n_out;
    char path[MAX_PATH];
    int byte = 0;

    make_path(path, folder, which);
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    bool is_right = read_line(file, which, seed, of, of_bytes);
    for (unsigned i = 0; is_right && i < n; i++) {
        out[i] = 0;
        for (int shift = 0; shift < 32 && byte != EOF; shift += 8)
            if ((byte = fgetc(file)) != EOF)
                out[i] |= (uint32_t)byte << shift;
    }
    is_right = is_right && byte != EOF && fgetc(file) == EOF;
    *state = is_right ? PRIMITIVES_RAN : PRIMITIVES_FAILED;
    fclose(file);
    return true;
}
