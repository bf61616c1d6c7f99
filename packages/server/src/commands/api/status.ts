import type { Command } from 'commander'
import { version } from '../../version.js'
import { addApiCommand } from '../command.js'
import type { Agent, Client, Delivery, Permission, Webhook } from '@org/agent-messaging-client'
import { given } from '@org/agent-messaging-core/runtime'
import { firstOf } from '../backend.js'
import { ifAllowed } from '../client-error.js'
import { table } from '../output.js'
import { webhookRow } from './webhook-row.js'

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

type CountedState = 'queued' | 'running' | 'deferred' | 'input_required' | 'failed'

/** Rows that were counted. `isAll` is false if there can be more. */
type Counted = { readonly count: number; readonly isAll: boolean }

type Status = Awaited<ReturnType<typeof readStatus>>

/** Most rows that are read for each count, so that a long backlog does not slow the command. */
const MOST = 1_000

/**
 * Reads the status of a project from the lists of the API. A part is undefined if the API key lacks
 * its permission.
 */
export const readStatus = async (client: Client, now = Date.now()) => ({
  agentsInError: await ifAllowed(agentsInError(client)),
  troubledWebhooks: await ifAllowed(
    firstOf(client.webhooks.list()).then((webhooks) => webhooks.filter(isTroubled)),
  ),
  messages: await ifAllowed(messagesNow(client)),
  deliveries: await ifAllowed(deliveriesNow(client, now)),
})

const agentsInError = async ({ agents }: Client) =>
  (await firstOf(agents.list()))
    .filter(({ state }) => state === 'error')
    .map(({ name, lastError }) => ({ name, ...given({ lastError }) }))

async function messagesNow({ messages }: Client) {
  const messagesIn = async (state: CountedState) =>
    counted(await firstOf(messages.search({ state }), MOST))
  return {
    queued: await messagesIn('queued'),
    running: await messagesIn('running'),
    deferred: await messagesIn('deferred'),
    input_required: await messagesIn('input_required'),
    failed: await messagesIn('failed'),
  }
}

async function deliveriesNow({ deliveries }: Client, now: number) {
  const pending = await firstOf(deliveries.list({ status: 'pending' }), MOST)
  const exhausted = await firstOf(deliveries.list({ status: 'exhausted' }), MOST)
  return {
    pending: counted(pending),
    exhausted: counted(exhausted),
    ...given({ oldestDueAt: oldestDue(pending, now) }),
  }
}

const counted = (rows: readonly unknown[]) => ({
  count: rows.length,
  isAll: rows.length < MOST,
})

const isTroubled = ({ enabled, paused, consecutiveFailures }: Webhook) =>
  !enabled || paused || consecutiveFailures > 0

/** Undefined if nothing is due, or if not all pending deliveries were read. */
function oldestDue(pending: readonly Delivery[], now: number) {
  if (pending.length >= MOST) return undefined
  const due = pending.flatMap(({ nextAttemptAt }) =>
    nextAttemptAt !== undefined && Date.parse(nextAttemptAt) <= now ? [nextAttemptAt] : [],
  )
  return due.toSorted()[0]
}

/** The status as lines for people. */
export const statusText = (status: Status) => {
  const { agentsInError: agents, troubledWebhooks: webhooks, messages, deliveries } = status
  return [
    `messages  ${messages ? messagesText(messages) : lacks('project:message')}`,
    `webhooks  ${deliveries ? deliveriesText(deliveries) : lacks('project:webhooks')}`,
    ...(agents
      ? ['', table(agents.map(agentRow), 'No agent is in error.')]
      : [`agents    ${lacks('project:agents')}`]),
    ...(webhooks
      ? ['', table(webhooks.map(webhookRow), 'No webhook is failing, paused or disabled.')]
      : []),
  ].join('\n')
}

const lacks = (permission: Permission) => `not shown, because the API key lacks ${permission}`

const agentRow = ({ name, lastError }: Pick<Agent, 'name' | 'lastError'>) => ({
  agent: name,
  error: lastError ? `${lastError.code}: ${lastError.message}` : '-',
})

function messagesText(messages: NonNullable<Status['messages']>) {
  const { queued, running, deferred, input_required: asking, failed } = messages
  return `${shown(queued)} queued, ${shown(running)} running, ${shown(deferred)} deferred, ${shown(asking)} waiting for a person, ${shown(failed)} failed`
}

function deliveriesText({ pending, exhausted, oldestDueAt }: NonNullable<Status['deliveries']>) {
  const due = oldestDueAt === undefined ? '' : `, the oldest due since ${oldestDueAt}`
  return `${shown(pending)} deliveries pending${due}, ${shown(exhausted)} exhausted`
}

const shown = ({ count, isAll }: Counted) => (isAll ? String(count) : `${count} or more`)
