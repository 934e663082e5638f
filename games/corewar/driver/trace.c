/*
 * Records who owns which part of the core over time.
 *
 * pMARS's simulator includes a file of this name when built with TRACEGRAPHX, and calls what is defined here as its
 * display. A cell belongs to the warrior that wrote it last. The core is kept as at most BLOCKS blocks, the battle as at
 * most FRAMES frames: when they are full, every second one goes and the distance between frames doubles, so that the
 * size is bounded whatever the battle does. The last frame is always the end of the battle.
 */

#include <string.h>

#define BLOCKS 1000
#define FRAMES 96

struct frame {
  long at;
  char owners[BLOCKS + 1];
  int tasks[MAXWARRIOR];
  int heads[MAXWARRIOR];
};

extern mem_struct *memory;
extern warrior_struct *W;
extern int warriorsLeft;
extern long cycle;

static struct frame frames[FRAMES];
static unsigned char *owner; /* 0: nobody's, else warrior + 1 */
static int frame_count;
static long frame_step, frame_next;

static int
block_size(void)
{
  return (coreSize + BLOCKS - 1) / BLOCKS;
}

/* The warrior that holds most cells of a block, '.' where nobody holds any. */
static char
block_owner(int first)
{
  int counts[MAXWARRIOR + 1] = {0};
  int i, best = 0, last = first + block_size();

  for (i = first; i < last && i < coreSize; i++)
    counts[owner[i]]++;
  for (i = 1; i <= warriors; i++)
    if (counts[i] > (best ? counts[best] : 0))
      best = i;
  return best ? (char) ('0' + best - 1) : '.';
}

static void
trace_snap(long at)
{
  struct frame *f;
  int i, first;

  if (frame_count == FRAMES) {
    for (i = 0; 2 * i < FRAMES; i++)
      frames[i] = frames[2 * i];
    frame_count = i;
    frame_step *= 2;
  }
  f = &frames[frame_count++];
  f->at = at;
  for (i = 0, first = 0; first < coreSize; first += block_size())
    f->owners[i++] = block_owner(first);
  f->owners[i] = '\0';
  for (i = 0; i < warriors; i++) {
    f->tasks[i] = warrior[i].tasks;
    f->heads[i] = warrior[i].tasks ? *warrior[i].taskHead / block_size() : -1;
  }
  frame_next = at + frame_step;
}

static void
trace_start(void)
{
  int i, j;

  free(owner);
  if ((owner = calloc(coreSize, 1)) == NULL)
    Exit(MEMERR);
  for (i = 0; i < warriors; i++)
    for (j = 0; j < warrior[i].instLen; j++)
      owner[warrior[i].position + j] = (unsigned char) (i + 1);
  frame_count = 0;
  frame_step = 1;
  frame_next = 0;
}

static void
trace_cycle(void)
{
  long at = cycles - (cycle + warriorsLeft - 1) / warriorsLeft;

  if (at >= frame_next)
    trace_snap(at);
}

void
trace_print(void)
{
  int i, j;

  for (i = 0; i < frame_count; i++) {
    printf("frame %ld %s", frames[i].at, frames[i].owners);
    for (j = 0; j < warriors; j++)
      printf(" %d", frames[i].tasks[j]);
    for (j = 0; j < warriors; j++)
      printf(" %d", frames[i].heads[j]);
    putchar('\n');
  }
  puts("end");
}

#define trace_own(address) (owner[address] = (unsigned char) (W - warrior + 1))

#define display_init()
#define display_clear() trace_start()
#define display_read(address)
#define display_write(address) trace_own(address)
#define display_dec(address) trace_own(address)
#define display_inc(address) trace_own(address)
#define display_exec(address)
#define display_spl(who, tasks)
#define display_dat(address, who, tasks)
#define display_die(who)
#define display_close() trace_snap(cycles - cycle)
#define display_cycle() trace_cycle()
#define display_push(address)
