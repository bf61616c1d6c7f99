import type { Command } from 'commander'
import { version } from '../version.js'
import { onBackend, type Backend } from './backend.js'
import { example, withBackend, type BackendOptions } from './options.js'
import { print } from './output.js'
import { readStatus, statusText } from './project-status.js'

export function addStatus(program: Command): void {
  withBackend(program.command('status'))
    .description('show what fails, waits or is disabled in a project')
    .addHelpText(
      'after',
      example('agent-messaging status', 'agent-messaging status --profile production --json'),
    )
    .action((options: BackendOptions) =>
      onBackend(options, (backend) => showStatus(backend, options.json)),
    )
}

async function showStatus({ client, place }: Backend, json: true | undefined): Promise<void> {
  const status = await readStatus(client)
  const shown = 'server' in place ? `server    ${place.server}` : `database  ${place.database}`
  const text = `${shown}\ncommand   version ${version}\n${statusText(status)}`
  print(json, { ...place, commandVersion: version, ...status }, text)
}
