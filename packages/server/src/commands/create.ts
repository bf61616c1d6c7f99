import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Option, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { shellWord } from '../terminal.js'
import { addCommand } from './command.js'
import { NODE_FLOOR } from '@org/agent-messaging-core/node-floor'
import { PACKAGE } from '../own-command.js'
import { packageVersion } from '../version.js'

export function addCreate(program: Command) {
  addCommand(program, 'create', 'create a small starter project in a new or empty folder', [
    'agent-messaging create my-agents',
    'agent-messaging create app --template embedded',
  ])
    .argument('<folder>', 'folder of the project')
    .addOption(
      new Option(
        '--template <template>',
        'a server with an agents file, or a program that embeds the service',
      )
        .choices(TEMPLATES)
        .default('server'),
    )
    .action(create)
}

function create(folder: string, { template }: { readonly template: Template }) {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new OperatorError(`${folder} is not empty; choose a new folder`, 2)
  const files = starterFiles(template, packageName(folder))
  mkdirSync(folder, { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(folder, file), text)
  console.log(`Created ${folder}. Next:

cd ${shellWord(folder)}
npm install
npm start`)
}

/** Returns the folder's name without the characters that npm refuses in names. */
function packageName(folder: string) {
  const name = path.basename(path.resolve(folder)).toLowerCase()
  return name.replaceAll(/[^a-z0-9-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'starter'
}

const TEMPLATES = ['server', 'embedded'] as const
type Template = (typeof TEMPLATES)[number]

type Files = Readonly<Record<string, string>>

/** Returns the files of a starter project by their names. */
function starterFiles(template: Template, name: string): Files {
  const { library, start, files } = STARTERS[template]
  const manifest = {
    name,
    private: true,
    version: '0.0.0',
    type: 'module',
    engines: { node: `>=${NODE_FLOOR}` },
    scripts: { start },
    dependencies: { [library]: `^${packageVersion}` },
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
console.log(await messaging.ask('greeter', 'Hello'))
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
