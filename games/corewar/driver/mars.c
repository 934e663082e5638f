/*
 * Plays many battles in one process, on pMARS as it is.
 *
 * Linked with the unmodified sources of pMARS (its own main() renamed away by the compiler's command line). Two uses:
 *
 *   arena-mars assemble WARRIORS [pMARS options] -
 *       assembles the warrior on standard input and prints it as numbers:
 *       "warrior LENGTH START PINNED PIN", one line "OPCODE A_MODE A B_MODE B" an instruction, "done".
 *       Exit code 3 and pMARS's own messages on standard error when it does not assemble.
 *
 *   arena-mars play [pMARS options] FILE...
 *       the file names only say how many warriors there are. Reads as many warriors in the form above (without
 *       "done"), then battles "ROTATION POSITION" up to the end of input. POSITION is pMARS's own -F; under rotation
 *       k the warrior (seat + k) modulo n sits on a seat. Every battle starts as a new pMARS process would: nothing,
 *       P-space included, is left of the one before. Prints for each
 *       "battle INDEX CYCLES SURVIVORS", per seat its score, per seat how many were alive when it died (0: survived);
 *       the tracing build then prints the frames of trace.c.
 *
 * No name, author or other text of a warrior is ever printed.
 */

#include <string.h>

#include "global.h"
#include "sim.h"

extern int pspP; /* P-spaces in use; pmars.c */
extern void init(void);
extern void pspace_init(void);

static warrior_struct loaded[MAXWARRIOR];

static int
assembled(int argc, char **argv)
{
  int i, status;
  mem_struct *cell;

  if (argc < 3 || (status = parse_param(argc - 1, argv + 1)) != SUCCESS)
    return CLP_NOGOOD;
  warriors = atoi(argv[1]); /* what WARRIORS stands for; only one is assembled */
  init();
  if ((status = assemble(warrior[0].fileName, 0)) != SUCCESS)
    return status;
  printf("warrior %d %d %d %ld\n", warrior[0].instLen, warrior[0].offset, warrior[0].pSpaceIndex == PIN_APPEARED,
         warrior[0].pSpaceIDNumber);
  for (i = 0; i < warrior[0].instLen; i++) {
    cell = warrior[0].instBank + i;
    printf("%d %d %d %d %d\n", cell->opcode, cell->A_mode, cell->A_value, cell->B_mode, cell->B_value);
  }
  puts("done");
  return SUCCESS;
}

static int
load(warrior_struct *into)
{
  int i, pinned, opcode, a_mode, b_mode;
  mem_struct *cell;

  memset(into, 0, sizeof *into);
  if (scanf(" warrior %d %d %d %ld", &into->instLen, &into->offset, &pinned, &into->pSpaceIDNumber) != 4)
    return 0;
  if (into->instLen < 1 || into->instLen > instrLim || into->offset < 0 || into->offset >= into->instLen)
    return 0;
  into->pSpaceIndex = pinned ? PIN_APPEARED : UNSHARED;
  if ((into->instBank = calloc(into->instLen, sizeof *cell)) == NULL)
    return 0;
  for (i = 0; i < into->instLen; i++) {
    cell = into->instBank + i;
    if (scanf("%d %d %d %d %d", &opcode, &a_mode, &cell->A_value, &b_mode, &cell->B_value) != 5)
      return 0;
    if (cell->A_value < 0 || cell->A_value >= coreSize || cell->B_value < 0 || cell->B_value >= coreSize)
      return 0;
    cell->opcode = (FIELD_T) opcode;
    cell->A_mode = (FIELD_T) a_mode;
    cell->B_mode = (FIELD_T) b_mode;
  }
  return 1;
}

/* What a new process would find: fresh warriors in the order of their seats, and empty P-spaces. */
static void
seat(int rotation)
{
  int i;

  for (i = 0; i < warriors; i++)
    warrior[i] = loaded[(i + rotation) % warriors];
  pspP = 0;
  pspace_init();
  for (i = 0; i < pspP; i++)
    memset(pSpace[i], 0, (size_t) pSpaceSize * sizeof(ADDR_T));
}

/* pMARS counts a death under the number of warriors alive just before it. */
static int
alive_at_death(int i)
{
  int left;

  for (left = 2; left <= warriors; left++)
    if (warrior[i].score[left + warriors - 2])
      return left;
  return 0;
}

static void
report(int index)
{
  int i;

  set_reg('W', (long) warriors); /* the score formula reads it */
  printf("battle %d %ld %d", index, cycles - cycle, warriorsLeft);
  for (i = 0; i < warriors; i++)
    printf(" %d", score(i));
  for (i = 0; i < warriors; i++)
    printf(" %d", alive_at_death(i));
  putchar('\n');
#ifdef TRACEGRAPHX
  {
    extern void trace_print(void);
    trace_print();
  }
#endif
  fflush(stdout);
}

static int
played(int argc, char **argv)
{
  int i, rotation, index = 0;

  if (parse_param(argc, argv) != SUCCESS)
    return CLP_NOGOOD;
  init();
  for (i = 0; i < warriors; i++)
    if (!load(&loaded[i])) {
      fprintf(stderr, "warrior %d is no assembled warrior\n", i);
      return PARSEERR;
    }
  rounds = 1;
  while (scanf("%d %d", &rotation, &SWITCH_F) == 2) {
    if (rotation < 0 || rotation >= warriors || SWITCH_F < separation) {
      fprintf(stderr, "battle %d has no such rotation or position\n", index);
      return CLP_NOGOOD;
    }
    seat(rotation);
    simulator1();
    report(index++);
  }
  puts("done");
  return SUCCESS;
}

int
main(int argc, char **argv)
{
  if (argc > 2 && !strcmp(argv[1], "assemble"))
    return assembled(argc - 1, argv + 1);
  if (argc > 2 && !strcmp(argv[1], "play"))
    return played(argc - 1, argv + 1);
  fputs("usage: arena-mars assemble|play ...\n", stderr);
  return CLP_NOGOOD;
}
