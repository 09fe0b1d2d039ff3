/* Stands where the loader would find one of NVIDIA's libraries, and is none of
 * them: tests on the double of the driver have no machine's library by mistake.
 */
extern const int canzona_absent;
const int canzona_absent = 1;
