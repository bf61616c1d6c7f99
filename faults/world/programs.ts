/** The harness's own folder, whether this runs from `dist` or, in a test, from the sources. */
const faults = new URL(
  import.meta.url.endsWith('/dist/world/programs.js') ? '../../' : '../',
  import.meta.url,
)
export const workspace = new URL('../', faults)

/** What runs as a process of its own is what is built: `tsc -b` comes first. */
export const programs = {
  server: new URL('../dist/cli.js', import.meta.resolve('@org/agent-messaging-server')),
  hooks: new URL('dist/inside/hooks.js', faults),
  agents: new URL('dist/inside/agents.js', faults),
  actors: new URL('dist/world/actors.js', faults),
}
