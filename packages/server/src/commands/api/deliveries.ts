import type {
  Delivery,
  DeliveryAttempt,
  DeliveryStatusFilter,
  NewRecovery,
  Recovery,
} from '@org/agent-messaging-client'
import { given } from '@org/agent-messaging-core/runtime'
import { recoverySettings } from '@org/agent-messaging-core/host'
import { Option, type Command } from 'commander'
import { firstOf, type Backend } from '../backend.js'
import { addApiCommand, ID, type Invocation } from '../command.js'
import { instant, limitOption, since } from '../options.js'
import { fieldTable, table, loggedProgress } from '../output.js'
import { type Names, tableWithNames, withName } from './names.js'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError, orFail } from '../../operator-error.js'
import { orRefusal } from '../client-error.js'

type Filters = {
  readonly status?: DeliveryStatusFilter
  readonly event?: string
  readonly after?: string
  readonly before?: string
  readonly since?: string
}
type RecoverOptions = Filters & {
  readonly answer?: NonNullable<NewRecovery['lastAnswer']>
  readonly wait?: true
}
type ListOptions = Filters & {
  readonly webhook?: string
  readonly message?: string
  readonly session?: string
  readonly limit: number
}

export function addDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('list, inspect and resend webhook deliveries')

  const list = addApiCommand(deliveries, 'list', {
    about: 'list deliveries, newest first',
    examples: [
      `agent-messaging deliveries list --message ${ID}`,
      'agent-messaging deliveries list --status exhausted --after 2030-01-31',
      'agent-messaging deliveries list --json',
    ],
    thing: 'the deliveries',
    call: ({ client, options }: Invocation<ListOptions>) => {
      const { webhook, message, session, limit } = options
      const selected = { webhookId: webhook, messageId: message, sessionId: session }
      return firstOf(client.deliveries.list(given({ ...selected, ...filterOf(options) })), limit)
    },
    longText: tableWithNames(['webhook'], row, 'No deliveries found.'),
  })
  withFilters(list)
    .option('--message <id>', 'only deliveries of the events of this message')
    .option('--session <id>', 'only deliveries of the events of this session')
    .option('--webhook <id>', 'only deliveries to this webhook')
    .addOption(limitOption('deliveries'))

  addApiCommand(deliveries, 'show <id>', {
    about: 'show a delivery with its body and all attempts',
    thing: delivery,
    call: ({ client }, id) => client.deliveries.get(id),
    text: ({ attempts, body, ...fields }) => {
      const rows = table(attempts.map(attemptRow), 'No attempts yet.')
      return `${fieldTable(fields)}\n\n${rows}\n\n${body}`
    },
  })
  addApiCommand(deliveries, 'redeliver <id>', {
    about: 'send a delivery again now (a finished one gets a new retry schedule)',
    thing: delivery,
    call: ({ client }, id) => client.deliveries.redeliver(id),
    text: (_, id) => sendsNow('delivery', id),
  })
  addApiCommand(deliveries, 'cancel <id>', {
    about: 'cancel an open delivery, so that no further attempt is made',
    thing: delivery,
    call: ({ client }, id) => client.deliveries.cancel(id),
    text: (_, id) => `Cancelled delivery ${id}.`,
  })
  addApiCommand(deliveries, 'skip <id>', {
    about: 'cancel an open delivery that blocks its session, to send the next',
    thing: delivery,
    call: ({ client }, id) => client.deliveries.skip(id),
    text: (_, id) => `Skipped delivery ${id}.`,
  })
  addRecover(deliveries)
}

function addRecover(deliveries: Command): void {
  const recover = addApiCommand(deliveries, 'recover [webhook]', {
    about: 'resend the exhausted deliveries of one or all webhooks, or with --status others',
    examples: [
      `agent-messaging deliveries recover ${ID} --after 2030-01-31T12:00:00Z`,
      'agent-messaging deliveries recover --status failed --since 10:00 --answer 5xx --wait',
    ],
    thing: (id) => (id === undefined ? 'the deliveries' : `the deliveries of webhook ${id}`),
    call: (backend: Invocation<RecoverOptions>, webhookId?: string) => {
      const { answer, wait } = backend.options
      const filter = given({ webhookId, lastAnswer: answer, ...filterOf(backend.options) })
      return recovered(backend, filter, wait)
    },
    text: recoveryText,
    problem: recoveryProblem,
  })
  withFilters(recover)
    .addOption(
      new Option('--answer <class>', 'only deliveries whose last answer is of this class').choices(
        recoverySettings.lastAnswer.enum,
      ),
    )
    .option('--wait', 'wait until each delivery has ended, and show how many were accepted')
}

const delivery = (id: string) => `delivery ${id}`

/** For a delivery that the database has, and that a server sends. */
export const sendsNow = (what: string, id: string): string =>
  `A running server sends the ${what} now. To see the result, run: agent-messaging deliveries show ${id}`

const withFilters = (command: Command): Command =>
  command
    .addOption(
      new Option('--status <status>', 'only deliveries with this status').choices(
        recoverySettings.status.enum,
      ),
    )
    .addOption(
      new Option('--event <name>', 'only deliveries of this event').choices(
        recoverySettings.event.enum,
      ),
    )
    .option(
      '--after <time>',
      'only deliveries created after this time, such as 2030-01-31T12:00:00Z',
      instant,
    )
    .option('--before <time>', 'only deliveries created before this time', instant)
    .addOption(
      new Option('--since <time>', 'as --after, also a time of the day, such as 10:00')
        .argParser((text: string) => since(text))
        .conflicts('after'),
    )

const filterOf = ({ status, event, after, before, since: from }: Filters) => ({
  status,
  event,
  createdAfter: after ?? from,
  createdBefore: before,
})

const row = (delivery: Delivery, names: Names) => ({
  id: delivery.id,
  webhook: withName(names, delivery.webhookId),
  event: delivery.event,
  status: delivery.status,
  attempts: String(delivery.attemptCount),
  nextAttempt: nextAttemptOf(delivery),
  createdAt: delivery.createdAt,
})

const nextAttemptOf = ({ blockedBy, nextAttemptAt = '-' }: Delivery) =>
  blockedBy === undefined ? nextAttemptAt : `after ${blockedBy}`

const attemptRow = (attempt: DeliveryAttempt) => ({
  attempt: String(attempt.attemptNumber),
  startedAt: attempt.startedAt,
  took: `${attempt.durationMs} ms`,
  outcome: attempt.outcome,
  status: String(attempt.statusCode ?? '-'),
  detail:
    attempt.statusCode === undefined
      ? `${attempt.error}: ${attempt.detail}`
      : startOf((attempt.responseBody ?? '').replaceAll(/\s+/g, ' '), 200),
})

const startOf = (text: string, length: number) =>
  text.length > length ? `${text.slice(0, length)}…` : text

/** The time between two looks at a recovery that another process works on. */
const LOOK_MS = 500

/** Starts a recovery and follows it. A server finishes the recovery if this command ends. */
async function recovered(backend: Backend, filter: NewRecovery, wait = false): Promise<Recovery> {
  const started = await backend.client.recoveries.start(filter)
  const recovery = await followed(backend, started, wait)
  const { id, status, failure = 'unknown' } = recovery
  if (status !== 'failed') return recovery
  throw new OperatorError(`recovery ${id} failed: ${failure.replaceAll('_', ' ')}`)
}

function recoveryText(recovery: Recovery) {
  const { filter, matched, redelivered, status } = recovery
  const end = status === 'cancelled' ? ' The recovery was cancelled.' : ''
  if (matched === 0)
    return `No ${filter.status ?? 'exhausted'} delivery matches. To recover others, use --status.${end}`
  if (status === 'done') return resultOf(recovery)
  const due = redelivered === 1 ? '1 delivery is' : `${redelivered} deliveries are`
  const others = matched > redelivered ? ' The others were due already or being sent.' : ''
  return `${due} due again. A running server sends them.${others}${end}`
}

/** Only a recovery that is done has a result. */
const recoveryProblem = ({ status, redelivered, delivered }: Recovery) =>
  status === 'done' && delivered < redelivered
    ? `${redelivered - delivered} of ${redelivered} deliveries were not accepted`
    : undefined

function resultOf(recovery: Recovery) {
  const { matched, redelivered, delivered, exhausted, cancelled, finishedAt = '' } = recovery
  const others = [
    matched > redelivered && ` ${matched - redelivered} were due already or being sent.`,
    exhausted > 0 && ` ${exhausted} out of retries.`,
    cancelled > 0 && ` ${cancelled} cancelled.`,
  ]
  return `${delivered} of ${redelivered} accepted by ${finishedAt}.${others.filter(Boolean).join('')}`
}

/** Does pages here if the command has the database. Other processes can do pages too. */
async function followed(
  { client, service }: Backend,
  started: Recovery,
  wait: boolean,
): Promise<Recovery> {
  const progress = loggedProgress()
  const failure = `cannot follow recovery ${started.id}, which a running server continues`
  let recovery = started
  while (recovery.status === 'running' || (wait && recovery.status === 'sending')) {
    const { matched, redelivered, delivered, waiting, failing } = recovery
    const counts = `, ${delivered} accepted, ${waiting} waiting, ${failing} failing`
    const shown = recovery.status === 'sending' ? counts : ''
    progress.show(`${matched} deliveries found, ${redelivered} of them are due again${shown}…`)
    const advanced =
      service && (await orFail(service.host.advanceRecovery(), 'cannot continue the recovery'))
    if (!advanced) await sleep(LOOK_MS)
    recovery = await orRefusal(client.recoveries.get(started.id), failure)
  }
  progress.end()
  return recovery
}
