import type { MessagingService } from '@org/agent-messaging-core'
import type { Command } from 'commander'
import { OperatorError, orFail } from '../operator-error.js'
import { onProject } from './admin.js'
import { example, withProject, type ProjectOptions } from './options.js'
import { print, progress } from './output.js'

type Options = ProjectOptions & { readonly force?: true }
type PrincipalOptions = Options & { readonly dryRun?: boolean }

export function addErase(program: Command): void {
  const erase = program
    .command('erase')
    .description('erase the messages of a session, an agent or an end user')

  withForce(erase.command('session <agent> <session>'))
    .description('erase a session with its messages')
    .addHelpText('after', `${example('agent-messaging erase session support customer-42')}${KEPT}`)
    .action((agent: string, sessionId: string, { project, force, json }: Options) =>
      onProject(project, async (service, projectId) => {
        await orFail(
          service.sessions.erase({ projectId, agent, sessionId, force }),
          `cannot erase session ${sessionId} of agent ${agent}`,
        )
        print(
          json,
          { agent, sessionId, erased: true },
          `Erased session ${sessionId} of agent ${agent}.`,
        )
      }),
    )

  withForce(erase.command('agent <agent>'))
    .description('delete an agent with all its sessions and messages')
    .addHelpText('after', `${example('agent-messaging erase agent support --force')}${KEPT}`)
    .action((agent: string, { project, force, json }: Options) =>
      onProject(project, async (service, projectId) => {
        await orFail(
          service.agents.delete({ projectId, agent, force }),
          `cannot erase agent ${agent}`,
        )
        print(
          json,
          { agent, erased: true },
          `Erased agent ${agent} with its sessions and messages.`,
        )
      }),
    )

  withForce(erase.command('principal <endUserId>'))
    .description('erase the messages and deliveries of an end user')
    .option('--dry-run', 'only count the messages and deliveries')
    .addHelpText(
      'after',
      `${example('agent-messaging erase principal customer-42 --dry-run', 'agent-messaging erase principal customer-42 --force')}${SCOPE}`,
    )
    .action((endUserId: string, options: PrincipalOptions) =>
      onProject(options.project, (service, projectId) =>
        erasePrincipal(service, projectId, endUserId, options),
      ),
    )
}

const KEPT = `
Deliveries keep the bodies that webhooks received until SERVICE_DELIVERY_RETENTION ends.
Backups are not changed.
`

const SCOPE = `
The command erases messages whose executionPrincipal has this endUserId. Other messages of the same
sessions are kept, and without --force also messages that are not final. You can run the command
while a server runs, and you can stop and repeat it. A running server can still send a delivery that
it has already read. Backups, agents and receivers are not changed. See docs/security.md.
`

const withForce = (command: Command): Command =>
  withProject(command.option('--force', 'erase even unanswered messages'))

async function erasePrincipal(
  service: MessagingService,
  projectId: string,
  endUserId: string,
  { force, dryRun = false, json }: PrincipalOptions,
): Promise<void> {
  const found = await sumOfSteps(endUserId, (cursor) =>
    dryRun
      ? service.principals.count({ projectId, endUserId, cursor })
      : service.principals.erase({ projectId, endUserId, force, cursor }),
  )
  const { messages, openMessages, deliveries } = found
  const total = `${counted(messages, 'message')} and ${counted(deliveries, 'delivery', 'deliveries')} of ${endUserId}`
  const open =
    dryRun && openMessages > 0
      ? ` ${notFinal(openMessages)}; use --force to erase ${openMessages === 1 ? 'it' : 'them'} too.`
      : ''
  print(
    json,
    { endUserId, dryRun, ...found },
    `${dryRun ? 'Would erase' : 'Erased'} ${total}.${open}`,
  )
  if (dryRun || openMessages === 0) return
  throw new OperatorError(
    `${notFinal(openMessages)} and ${openMessages === 1 ? 'was' : 'were'} kept; repeat this later, or use --force`,
  )
}

const notFinal = (count: number): string =>
  `${counted(count, 'more message')} ${count === 1 ? 'is' : 'are'} not final`

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

type Step = ReturnType<MessagingService['principals']['count']>
type Sum = { readonly messages: number; readonly openMessages: number; readonly deliveries: number }

/** Runs all steps over the rows of the project and adds up their results. */
async function sumOfSteps(
  endUserId: string,
  stepFrom: (cursor: string | undefined) => Step,
): Promise<Sum> {
  const bar = progress()
  let sum: Sum = { messages: 0, openMessages: 0, deliveries: 0 }
  for (let cursor: string | null | undefined; cursor !== null;) {
    const { nextCursor, ...part } = await orFail(
      stepFrom(cursor),
      `stopped before all rows of ${endUserId} were read; repeat this command`,
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
