// The operations of the STAMP suite's lib/tm.h on TinySTM: the suite includes this file as <stm.h>.
#ifndef SINEW_RIVALS_TINYSTM_H
#define SINEW_RIVALS_TINYSTM_H

#include <setjmp.h>
#include <stddef.h>

#include_next <stm.h>
#include <mod_mem.h>

// TinySTM finds a thread's state by itself; the suite passes a pointer to it on.
typedef void STM_THREAD_T;
#define STM_SELF stm_self

#define STM_STARTUP() \
    do { \
        stm_init(); \
        mod_mem_init(0); \
    } while (0)
#define STM_SHUTDOWN() stm_exit()
#define STM_NEW_THREAD() NULL
#define STM_INIT_THREAD(self, id) ((void)(self), (void)stm_init_thread())
#define STM_FREE_THREAD(self) stm_exit_thread()

#define STM_BEGIN(is_read_only) \
    do { \
        stm_tx_attr_t attributes = {.attrs = 0}; \
        attributes.read_only = is_read_only; \
        sigjmp_buf *retry = stm_start(attributes); \
        if (retry != NULL) sigsetjmp(*retry, 0); \
    } while (0)
#define STM_BEGIN_WR() STM_BEGIN(0)
#define STM_BEGIN_RD() STM_BEGIN(1)
#define STM_END() stm_commit()
#define STM_RESTART() stm_abort(0)

#define STM_MALLOC(size) stm_malloc(size)
#define STM_FREE(memory) stm_free(memory, sizeof(stm_word_t))

#define STM_WORD(variable) ((volatile stm_word_t *)(void *)&(variable))
#define STM_READ(variable) ((long)stm_load(STM_WORD(variable)))
#define STM_READ_P(variable) ((void *)stm_load(STM_WORD(variable)))
#define STM_WRITE(variable, value) stm_store(STM_WORD(variable), (stm_word_t)(value))
#define STM_WRITE_P(variable, value) stm_store(STM_WORD(variable), (stm_word_t)(void *)(value))
#define STM_LOCAL_WRITE(variable, value) ((variable) = (value))
#define STM_LOCAL_WRITE_P(variable, value) ((variable) = (value))

#endif
