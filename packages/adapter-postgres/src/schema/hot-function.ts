/**
 * Options of the functions that run for each batch of messages or deliveries.
 *
 * A connection makes the plans of a function once, perhaps on empty tables where all indexes cost
 * the same. The connection keeps them until ANALYZE runs, which can be minutes and 100,000 rows
 * later. So these functions leave the planner no choice:
 *
 * - Rows are looked up one by one through an index. `x = any(array[y])` forces a look-up of x by y.
 *   With `x = y` the planner can instead read a whole index and search for each x among the ys.
 *   This is written only where `hot-plans.test.ts` fails without it on PostgreSQL 15 or 18.
 * - The looked-up column is the first column of exactly one index. That is why messages and
 *   deliveries are found by `id` and not by `seq`.
 * - A row with two key columns is found with `a = x and b between y and y order by b`. Only the
 *   index on (a, b) gives that order without a sort. A row comparison, `(a, b) >= (x, y)`, would
 *   read to the end of x before PostgreSQL 18.
 * - Rows that have to come in the order of an index are selected in that order with `NO_SORT`.
 */
export const HOT = `
  language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan`

/** Keeps a claim from sorting all due rows. The index has the longest due rows first. */
export const NO_SORT = 'set enable_sort = off set enable_incremental_sort = off'

/** For a function that runs alone, such as a claim. */
export const LOCK_TIMEOUT = "set lock_timeout = '10s'"

/** For a function that writes a batch. The committer retries the batch without the locked row. */
export const BATCH_LOCK_TIMEOUT = "set lock_timeout = '1s'"
