import type { Command } from 'commander'
import { agent, type ForceOptions } from './agents.js'
import { addApiCommand, type Invocation } from '../command.js'
import { progress } from '../output.js'

type Context = Invocation<ForceOptions & { readonly dryRun?: true }>

export function addErase(program: Command) {
  const erase = program
    .command('erase')
    .description('erase the messages of a session, an agent or an end user')
  const commands = [
    addApiCommand(erase, 'session <agent> <session>', {
      about: 'erase a session with its messages',
      notes: KEPT,
      verb: 'erase',
      thing: (name, sessionId) => `session ${sessionId} of agent ${name}`,
      call: async ({ client, options: { force } }: Context, name, sessionId = '') => {
        await client.sessions.erase(name, sessionId, { force })
        return { agent: name, sessionId, erased: true }
      },
      text: (_, name, sessionId) => `Erased session ${sessionId} of agent ${name}.`,
    }),
    addApiCommand(erase, 'agent <agent>', {
      about: 'delete an agent with all its sessions and messages',
      examples: ['agent-messaging erase agent support --force'],
      notes: KEPT,
      verb: 'erase',
      thing: agent,
      call: async ({ client, options: { force } }: Context, name) => {
        await client.agents.delete(name, { force })
        return { agent: name, erased: true }
      },
      text: (_, name) => `Erased agent ${name} with its sessions and messages.`,
    }),
    addApiCommand(erase, 'principal <endUserId>', {
      about: 'erase the messages and deliveries of an end user',
      examples: [
        'agent-messaging erase principal customer-42 --dry-run',
        'agent-messaging erase principal customer-42 --force',
      ],
      notes: SCOPE,
      verb: 'erase',
      thing: (endUserId) => `everything of ${endUserId}; repeat this command`,
      call: traces,
      text: tracesText,
      problem: ({ dryRun, openMessages }) =>
        dryRun || openMessages === 0
          ? undefined
          : `${notFinal(openMessages)} and ${openMessages === 1 ? 'was' : 'were'} kept; repeat this later, or use --force`,
    }).option('--dry-run', 'only count the messages and deliveries'),
  ]
  for (const command of commands) command.option('--force', 'erase even unanswered messages')
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

async function traces({ client, options }: Context, endUserId: string) {
  const { force, dryRun = false } = options
  const bar = progress()
  const onProgress = ({ messages, deliveries }: { messages: number; deliveries: number }) =>
    bar.show(`${messages} messages and ${deliveries} deliveries…`)
  const found = dryRun
    ? client.principals.count(endUserId, { onProgress })
    : client.principals.erase(endUserId, { force, onProgress })
  return { endUserId, dryRun, ...(await found.finally(() => bar.end())) }
}

type Traces = Awaited<ReturnType<typeof traces>>

function tracesText({ endUserId, dryRun, messages, openMessages, deliveries }: Traces) {
  const total = `${counted(messages, 'message')} and ${counted(deliveries, 'delivery', 'deliveries')} of ${endUserId}`
  if (!dryRun) return `Erased ${total}.`
  const open =
    openMessages > 0
      ? ` ${notFinal(openMessages)}; use --force to erase ${openMessages === 1 ? 'it' : 'them'} too.`
      : ''
  return `Would erase ${total}.${open}`
}

const notFinal = (count: number) =>
  `${counted(count, 'more message')} ${count === 1 ? 'is' : 'are'} not final`

const counted = (count: number, one: string, many = `${one}s`) =>
  `${count} ${count === 1 ? one : many}`
