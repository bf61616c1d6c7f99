/** For a lock of somebody's, in a batch whose others could go on: it is soon given up, and made again without the one that meets it. */
const LOCK_PATIENCE = '1s'

/** Of the functions that write many at a time, under whatever name there is one. What they do stays as it was released. */
export const lockPatience = `
do $$
declare
  grouped regprocedure;
begin
  for grouped in select p.oid from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = 'agent_messaging' and p.proname ~ '^(accept_messages|record_runs|settle_runs|record_attempts)'
  loop
    execute format('alter function %s set lock_timeout = ''${LOCK_PATIENCE}''', grouped);
  end loop;
end $$;
`
