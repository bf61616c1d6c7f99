import type { Command } from 'commander'
import { version } from '../../version.js'
import { addApiCommand } from '../command.js'
import { readStatus, statusText } from './project-status.js'

export const addStatus = (program: Command): Command =>
  addApiCommand(program, 'status', {
    about: 'show what fails, waits or is disabled in a project',
    examples: ['agent-messaging status', 'agent-messaging status --profile production --json'],
    verb: 'read',
    thing: 'the status',
    call: async ({ client, place }) => ({
      ...place,
      commandVersion: version,
      ...(await readStatus(client)),
    }),
    text: (status) => {
      const shown =
        'server' in status ? `server    ${status.server}` : `database  ${status.database}`
      return `${shown}\ncommand   version ${version}\n${statusText(status)}`
    },
  })
