/* An object that keeps data per thread, for programs without such data of their own. */
long mine;
#pragma omp threadprivate(mine)

void add(long i);
long kept(void);

void add(long i) { mine += i; }
long kept(void) { return mine; }

#ifdef REGISTERS
/* The program finds the functions without looking names up: this object registers them. */
void register_functions(void (*)(long), long (*)(void));
__attribute__((constructor)) static void begin(void) { register_functions(add, kept); }
#endif
