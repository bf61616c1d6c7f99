/**
 * Of a hot function. Its plans are made once, perhaps on empty tables whose indexes all look alike, and kept until the database knows
 * better, which may be minutes and a hundred thousand rows later. So nothing is left to choose: joins go in the order in which they are
 * written, each table by an index, and what is to come by a certain index says so by its order, since nothing is sorted.
 */
export const HOT = `
  language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set enable_memoize = off set enable_incremental_sort = off set join_collapse_limit = 1 set from_collapse_limit = 1
  set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '10s'`

/** Where an index gives the order too: what is asked for in that order can come by no other. A claim is not to read all that is due, and sort it. */
export const HOT_ORDERED = `${HOT} set enable_sort = off`
