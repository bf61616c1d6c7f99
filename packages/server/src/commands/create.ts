import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Option, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { starterFiles, TEMPLATES, type Template } from '../starter.js'
import { shellWord } from '../terminal.js'
import { addCommand } from './command.js'

export function addCreate(program: Command): void {
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
    .action((folder: string, { template }: { template: Template }) => {
      create(folder, template, program.version() ?? '')
    })
}

function create(folder: string, template: Template, version: string) {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new OperatorError(`${folder} is not empty; choose a new folder`, 2)
  const files = starterFiles(template, { name: packageName(folder), version })
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
