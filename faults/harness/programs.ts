/** The folder of the harness. This file runs from `dist` or, in a test, from the sources. */
const faults = new URL(
  import.meta.url.endsWith('/dist/harness/programs.js') ? '../../' : '../',
  import.meta.url,
)
export const workspace = new URL('../', faults)

/** Programs of other processes. They need a build. */
export const programs = {
  server: new URL('../dist/cli.js', import.meta.resolve('@org/agent-messaging-server')),
  hooks: new URL('dist/inside/hooks.js', faults),
  agents: new URL('dist/inside/agents.js', faults),
  actors: new URL('dist/harness/actors.js', faults),
}
