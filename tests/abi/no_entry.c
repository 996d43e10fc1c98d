/* A library that is no plug-in. */
int sluice_no_entry(void);
int sluice_no_entry(void) { return 0; }
