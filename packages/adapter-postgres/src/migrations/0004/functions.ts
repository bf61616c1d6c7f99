/**
 * Of a hot function. Its plans are made once, perhaps on empty tables whose indexes all look alike, and kept until the database knows
 * better, which may be minutes and a hundred thousand rows later. So nothing is left to choose:
 *
 * - A table is entered by an index, and rows are looked up one by one. `x = any(array[y])` says that x is to be found by y: with `x = y`
 *   the planner may as well read all of an index in its order, and look for each among the few y.
 * - What is looked up has an index that begins with it and no other that contains it: a message and a delivery by their id, not their seq.
 * - What is to come by a certain index is asked for in its order, where sorting is off. Other orders are by what no index has.
 */
export const HOT = `
  language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set enable_memoize = off set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '10s'`

/** Of a claim, whose index gives the longest due first: it is not to read all that is due, and sort it. */
export const HOT_ORDERED = `${HOT} set enable_sort = off set enable_incremental_sort = off`
