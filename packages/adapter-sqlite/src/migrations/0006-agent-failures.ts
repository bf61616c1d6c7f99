/** Failures in a row of an agent in error; one that is in error when the column comes counts as having failed once. */
export const agentFailures = `
alter table agents add column failures integer;
update agents set failures = 1 where state = 'error';
`
