import type { Command } from 'commander'
import { version } from '../../version.js'
import { addApiCommand } from '../command.js'
import type { Agent, Client, Delivery, Webhook } from '@org/agent-messaging-client'
import { firstOf } from '../backend.js'
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

type Status = {
  readonly agentsInError: readonly Pick<Agent, 'name' | 'lastError'>[]
  /** Webhooks that are disabled, paused or failing. */
  readonly troubledWebhooks: readonly Webhook[]
  readonly messages: { readonly [State in CountedState]: Counted }
  /** `oldestDueAt` is absent if nothing is due, or if not all pending deliveries were read. */
  readonly deliveries: {
    readonly pending: Counted
    readonly exhausted: Counted
    readonly oldestDueAt?: string
  }
}

/** Most rows that are read for each count, so that a long backlog does not slow the command. */
const MOST = 1_000

/** Reads the status of a project from the lists of the API. */
export async function readStatus(client: Client, now = Date.now()): Promise<Status> {
  const agents = await firstOf(client.agents.list())
  const webhooks = await firstOf(client.webhooks.list())
  const messagesIn = async (state: CountedState) =>
    counted(await firstOf(client.messages.search({ state }), MOST))
  const pending = await firstOf(client.deliveries.list({ status: 'pending' }), MOST)
  const exhausted = await firstOf(client.deliveries.list({ status: 'exhausted' }), MOST)
  const oldestDueAt = oldestDue(pending, now)
  return {
    agentsInError: agents
      .filter(({ state }) => state === 'error')
      .map(({ name, lastError }) => (lastError === undefined ? { name } : { name, lastError })),
    troubledWebhooks: webhooks.filter(isTroubled),
    messages: {
      queued: await messagesIn('queued'),
      running: await messagesIn('running'),
      deferred: await messagesIn('deferred'),
      input_required: await messagesIn('input_required'),
      failed: await messagesIn('failed'),
    },
    deliveries: {
      pending: counted(pending),
      exhausted: counted(exhausted),
      ...(oldestDueAt !== undefined && { oldestDueAt }),
    },
  }
}

const counted = (rows: readonly unknown[]): Counted => ({
  count: rows.length,
  isAll: rows.length < MOST,
})

const isTroubled = ({ enabled, paused, consecutiveFailures }: Webhook) =>
  !enabled || paused || consecutiveFailures > 0

function oldestDue(pending: readonly Delivery[], now: number): string | undefined {
  if (pending.length >= MOST) return undefined
  const due = pending.flatMap(({ nextAttemptAt }) =>
    nextAttemptAt !== undefined && Date.parse(nextAttemptAt) <= now ? [nextAttemptAt] : [],
  )
  return due.toSorted()[0]
}

/** The status as lines for people. */
export function statusText(status: Status): string {
  const { agentsInError, troubledWebhooks, messages, deliveries } = status
  const { queued, running, deferred, input_required: asking, failed } = messages
  const { pending, exhausted, oldestDueAt } = deliveries
  const due = oldestDueAt === undefined ? '' : `, the oldest due since ${oldestDueAt}`
  const agents = agentsInError.map(({ name, lastError }) => ({
    agent: name,
    error: lastError ? `${lastError.code}: ${lastError.message}` : '-',
  }))
  return [
    `messages  ${shown(queued)} queued, ${shown(running)} running, ${shown(deferred)} deferred, ${shown(asking)} waiting for a person, ${shown(failed)} failed`,
    `webhooks  ${shown(pending)} deliveries pending${due}, ${shown(exhausted)} exhausted`,
    '',
    table(agents, 'No agent is in error.'),
    '',
    table(troubledWebhooks.map(webhookRow), 'No webhook is failing, paused or disabled.'),
  ].join('\n')
}

const shown = ({ count, isAll }: Counted) => (isAll ? String(count) : `${count} or more`)
