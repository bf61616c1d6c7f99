import { NODE_FLOOR } from '@org/agent-messaging-core/node-floor'
import { PACKAGE } from './own-command.js'

export const TEMPLATES = ['server', 'embedded'] as const
export type Template = (typeof TEMPLATES)[number]

type Files = Readonly<Record<string, string>>

/** Returns the files of a starter project by their names. */
export function starterFiles(
  template: Template,
  { name, version }: { readonly name: string; readonly version: string },
): Files {
  const { library, start, files } = STARTERS[template]
  const manifest = {
    name,
    private: true,
    version: '0.0.0',
    type: 'module',
    engines: { node: `>=${NODE_FLOOR}` },
    scripts: { start },
    dependencies: { [library]: `^${version}` },
  }
  return { 'package.json': `${JSON.stringify(manifest, undefined, 2)}\n`, ...files }
}

const SERVER: Files = {
  'agents.mjs': `// Each function is an agent. The server starts them when it starts.
export default {
  greeter: async ({ message }) => \`You said: \${message}\`,
}
`,
  '.gitignore': 'node_modules/\ndata/\n.env\n',
  'README.md': `# A server with one agent

\`npm start\` runs a development server with the agent \`greeter\` of \`agents.mjs\`. The server prints
its address, an API key, a link to the console, and a command that shows a verified webhook. It
stores its database and its keys in \`data/\`.
`,
}

const EMBEDDED: Files = {
  'main.mjs': `import { createMessaging } from '@org/agent-messaging-node'

const messaging = await createMessaging({
  database: 'file:data.db',
  agents: { greeter: ({ message }) => \`You said: \${message}\` },
})
const { message } = await messaging.messages.send({
  agent: 'greeter',
  sessionId: 'first',
  message: 'Hello',
})
if (message.state.kind === 'responded') console.log(message.state.response)
await messaging.stop()
`,
  '.gitignore': 'node_modules/\ndata.db*\n',
  'README.md': `# A program with one agent

\`npm start\` sends a message to the agent \`greeter\` of \`main.mjs\` and prints the answer. The messages
are stored in \`data.db\`. Back it up together with \`data.db.key\`.
`,
}

const STARTERS = {
  server: {
    library: PACKAGE,
    start: 'agent-messaging dev --agents ./agents.mjs',
    files: SERVER,
  },
  embedded: {
    library: '@org/agent-messaging-node',
    start: 'node main.mjs',
    files: EMBEDDED,
  },
}
