/**
 * `headers` is sealed. The names of an attempt's request headers are few and the same over and over, so they are kept once; its
 * own are the values, one a line. `trace` is JSON.
 */
export const requestHeaders = `
alter table webhooks add column header_names text;
alter table webhooks add column headers text;
create table header_names (seq integer primary key, names text not null unique) strict;
alter table attempts add column header_names_seq integer references header_names;
alter table attempts add column header_values text;
alter table messages add column trace text;
alter table events add column trace text;
`
