import type { Command } from 'commander'
import { projectNamed } from '../find.js'
import { orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { example, jsonOption, projectOption } from './options.js'
import { print } from './output.js'

type Options = { readonly project: string; readonly force?: true; readonly json?: true }

export function addErase(program: Command): void {
  const erase = program.command('erase').description('erase what people have said: a session, or all of an agent')

  withCommon(erase.command('session <agent> <session>'))
    .description('erase a session with its messages; nothing finds them from then on')
    .addHelpText('after', `${example('agent-messaging erase session support customer-42')}${KEPT}`)
    .action((agent: string, sessionId: string, { project, force, json }: Options) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        const what = `the session ${sessionId} of the agent ${agent} cannot be erased`
        await orFail(service.sessions.erase({ projectId, agent, sessionId, force }), what)
        print(json, { agent, sessionId, erased: true }, `Erased the session ${sessionId} of the agent ${agent}.`)
      }),
    )

  withCommon(erase.command('agent <agent>'))
    .description('delete an agent with all its sessions and messages')
    .addHelpText('after', `${example('agent-messaging erase agent support --force')}${KEPT}`)
    .action((agent: string, { project, force, json }: Options) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        await orFail(service.agents.delete({ projectId, agent, force }), `the agent ${agent} cannot be erased`)
        print(json, { agent, erased: true }, `Erased the agent ${agent} with its sessions and messages.`)
      }),
    )
}

const KEPT = `
Deliveries keep the bodies that webhooks were sent until SERVICE_DELIVERY_RETENTION is over, and what backups hold is in them.\n`

const withCommon = (command: Command): Command =>
  command.option('--force', 'even if messages are open: they stay unanswered').addOption(projectOption()).addOption(jsonOption())
