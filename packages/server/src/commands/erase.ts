import type { MessagingService } from '@org/agent-messaging-core'
import type { Command } from 'commander'
import { projectNamed } from '../find.js'
import { OperatorError, orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { example, withProject, type ProjectOptions } from './options.js'
import { print, progress } from './output.js'

type Options = ProjectOptions & { readonly force?: true }
type PrincipalOptions = Options & { readonly dryRun?: true }

export function addErase(program: Command): void {
  const erase = program
    .command('erase')
    .description('erase what people have said: a session, all of an agent, or all of an end user')

  withCommon(erase.command('session <agent> <session>'))
    .description('erase a session with its messages; nothing finds them from then on')
    .addHelpText('after', `${example('agent-messaging erase session support customer-42')}${KEPT}`)
    .action((agent: string, sessionId: string, { project, force, json }: Options) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        const what = `the session ${sessionId} of the agent ${agent} cannot be erased`
        await orFail(service.sessions.erase({ projectId, agent, sessionId, force }), what)
        print(
          json,
          { agent, sessionId, erased: true },
          `Erased the session ${sessionId} of the agent ${agent}.`,
        )
      }),
    )

  withCommon(erase.command('agent <agent>'))
    .description('delete an agent with all its sessions and messages')
    .addHelpText('after', `${example('agent-messaging erase agent support --force')}${KEPT}`)
    .action((agent: string, { project, force, json }: Options) =>
      onDatabase(async (service) => {
        const { id: projectId } = await projectNamed(service, project)
        await orFail(
          service.agents.delete({ projectId, agent, force }),
          `the agent ${agent} cannot be erased`,
        )
        print(
          json,
          { agent, erased: true },
          `Erased the agent ${agent} with its sessions and messages.`,
        )
      }),
    )

  withCommon(erase.command('principal <endUserId>'))
    .description(
      'erase all that was sent and answered on behalf of an end user: messages, and the deliveries of their events',
    )
    .option('--dry-run', 'change nothing, and tell how much there is')
    .addHelpText(
      'after',
      `${example('agent-messaging erase principal customer-42 --dry-run', 'agent-messaging erase principal customer-42 --force')}${LEFT}`,
    )
    .action((endUserId: string, options: PrincipalOptions) =>
      onDatabase((service) => erasePrincipal(service, endUserId, options)),
    )
}

const LEFT = `
It goes by the endUserId in the executionPrincipal of messages. Messages of others in the same sessions stay; so does what is not final,
unless forced. It goes in small steps beside a running server, and may be stopped and repeated at any time. A server may still send what
it has in hand. What backups, agents and receivers have is with them; docs/security.md says what else is left.\n`

async function erasePrincipal(
  service: MessagingService,
  endUserId: string,
  options: PrincipalOptions,
): Promise<void> {
  const { project, force = false, dryRun = false, json } = options
  const { id: projectId } = await projectNamed(service, project)
  const found = await walk(endUserId, (cursor) =>
    dryRun
      ? service.principals.count({ projectId, endUserId, cursor })
      : service.principals.erase({ projectId, endUserId, force, cursor }),
  )
  const { messages, openMessages, deliveries } = found
  const much = `${counted(messages, 'message')} and ${counted(deliveries, 'delivery', 'deliveries')} of ${endUserId}`
  const rest =
    dryRun && openMessages > 0
      ? ` ${notFinal(openMessages)}: only --force would erase ${openMessages === 1 ? 'it' : 'them'}.`
      : ''
  print(
    json,
    { endUserId, dryRun, ...found },
    `${dryRun ? 'Would erase' : 'Erased'} ${much}.${rest}`,
  )
  if (dryRun || openMessages === 0) return
  throw new OperatorError(`${notFinal(openMessages)}, and kept: repeat this later, or with --force`)
}

const notFinal = (count: number): string =>
  `${counted(count, 'more message')} ${count === 1 ? 'is' : 'are'} not final`

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

type Part = ReturnType<MessagingService['principals']['count']>
type Sum = { readonly messages: number; readonly openMessages: number; readonly deliveries: number }

/** Step by step, from the first row of the project to the last. */
async function walk(
  endUserId: string,
  stepFrom: (cursor: string | undefined) => Part,
): Promise<Sum> {
  const bar = progress()
  let sum: Sum = { messages: 0, openMessages: 0, deliveries: 0 }
  for (let cursor: string | null | undefined; cursor !== null;) {
    const { nextCursor, ...part } = await orFail(
      stepFrom(cursor),
      `not all of ${endUserId} was looked at: repeat this`,
    )
    cursor = nextCursor
    sum = {
      messages: sum.messages + part.messages,
      openMessages: sum.openMessages + part.openMessages,
      deliveries: sum.deliveries + part.deliveries,
    }
    bar.show(`${sum.messages} messages and ${sum.deliveries} deliveries…`)
  }
  bar.end()
  return sum
}

const KEPT = `
Deliveries keep the bodies that webhooks were sent until SERVICE_DELIVERY_RETENTION is over, and what backups hold is in them.\n`

const withCommon = (command: Command): Command =>
  withProject(command.option('--force', 'even if messages are open: they stay unanswered'))
