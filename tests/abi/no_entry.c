/* A library without the entry symbol of a plug-in. */
int sluice_no_entry(void);
int sluice_no_entry(void) { return 0; }
