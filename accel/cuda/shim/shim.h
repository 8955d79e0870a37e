/* Loads the driver at path. Returns 0, -1 when it cannot be loaded, or what its
 * cuInit returned; text then says why. */
int starpush_cu_load(const char *path, char *text, int len);
