/** The process that runs an agent which keeps something in its process, and until when it counts as alive. */
export const agentOwners = `
alter table agent_messaging.agents add column owner text;
alter table agent_messaging.agents add column owned_until bigint;
`
