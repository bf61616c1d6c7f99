/** The process that runs an agent which keeps something in its process, and until when it counts as alive. */
export const agentOwners = `
alter table agents add column owner text;
alter table agents add column owned_until integer;
`
