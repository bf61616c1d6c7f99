import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Recovery } from '@org/agent-messaging-client'
import type { Command } from 'commander'
import { OperatorError, orFail } from '../../operator-error.js'
import { firstOf } from '../backend.js'
import { orRefusal } from '../client-error.js'
import { addApiCommand, type Invocation } from '../command.js'
import { localTime, loggedProgress } from '../output.js'
import { printable } from '../../terminal.js'
import { detailOf, startOf } from './attempt-text.js'
import { stateOf } from './webhook-row.js'

export type WaitOption = { readonly wait?: true }
export const WAIT = 'wait until each delivery has ended, and show how many were accepted'

export function addRecoveries(program: Command) {
  const recoveries = program
    .command('recoveries')
    .description('show, continue and cancel recoveries of deliveries')
  addApiCommand(recoveries, 'show <id>', {
    about: 'show how many deliveries of a recovery were accepted',
    thing: recoveryNamed,
    call: (invocation: Invocation<WaitOption>, id) => {
      const found = invocation.client.recoveries.get(id)
      return invocation.options.wait ? followed(invocation, found) : found
    },
    text: (recovery) =>
      recovery.status === 'sending' ? `${progressOf(recovery)}.` : recoveryText(recovery),
    problem: recoveryProblem,
  }).option('--wait', WAIT)
  addApiCommand(recoveries, 'continue <id>', {
    about: 'send the others of a recovery whose first delivery was not accepted',
    thing: recoveryNamed,
    call: (invocation: Invocation<WaitOption>, id) =>
      followed(invocation, invocation.client.recoveries.continue(id)),
    text: recoveryText,
    problem: recoveryProblem,
  }).option('--wait', WAIT)
  addApiCommand(recoveries, 'cancel <id>', {
    about: 'end the search of a recovery (deliveries that are due again stay due)',
    thing: recoveryNamed,
    call: ({ client }, id) => client.recoveries.cancel(id),
    done: 'cancelled',
  })
}

const recoveryNamed = (id: string) => `recovery ${id}`

/** The time between two looks at a recovery that another process works on. */
const LOOK_MS = 500
/** Without `--wait`, the command waits for the first attempt this long. */
const TRY_MS = 30_000

/**
 * Follows a recovery. A server finishes the recovery if this command ends. Does pages here if the
 * command has the database. Other processes can do pages too.
 */
export async function followed(
  { client, service, options }: Invocation<WaitOption>,
  starting: Promise<Recovery>,
) {
  let recovery = await starting
  const { id } = recovery
  const progress = loggedProgress()
  const failure = `cannot follow recovery ${id}, which a running server continues`
  const wait = options.wait === true
  const triesUntil = performance.now() + TRY_MS
  const isFollowed = () =>
    recovery.status === 'running' ||
    (recovery.status === 'trying' && (wait || performance.now() < triesUntil)) ||
    (recovery.status === 'sending' && wait)
  while (isFollowed()) {
    progress.show(`${progressOf(recovery)}${await holdsOf(client, recovery)}…`)
    const advanced =
      service && (await orFail(service.host.advanceRecovery(), 'cannot continue the recovery'))
    if (!advanced) await sleep(LOOK_MS)
    recovery = await orRefusal(client.recoveries.get(id), failure)
  }
  progress.end()
  const { status, failure: reason = 'unknown' } = recovery
  if (status !== 'failed') return recovery
  throw new OperatorError(`recovery ${id} failed: ${reason.replaceAll('_', ' ')}`)
}

const DELIVERIES = {
  one: 'delivery',
  many: 'deliveries',
  again: 'due again',
  next: 'A running server sends them.',
  accepted: 'accepted',
  exhausted: 'out of retries',
}
const MESSAGES = {
  one: 'message',
  many: 'messages',
  again: 'queued again',
  next: 'A running server runs them.',
  accepted: 'answered',
  exhausted: 'failed again',
}
const wordsOf = ({ filter }: Pick<Recovery, 'filter'>) =>
  filter.agentId === undefined ? DELIVERIES : MESSAGES

function progressOf(recovery: Recovery) {
  const { status, matched, redelivered, delivered, waiting, failing } = recovery
  const { many, again, accepted } = wordsOf(recovery)
  if (status === 'trying') return 'Trying one delivery'
  return status === 'sending'
    ? `${count(delivered)} of ${count(redelivered)} ${accepted}, ${count(waiting)} waiting, ${count(failing)} failing`
    : `${count(matched)} ${many} found, ${count(redelivered)} of them are ${again}`
}

/** Names up to three webhooks that keep deliveries, if a delivery waits. */
export async function holdsOf(
  { webhooks }: Pick<Client, 'webhooks'>,
  { waiting, filter }: Pick<Recovery, 'waiting' | 'filter'>,
) {
  if (waiting === 0 || filter.agentId !== undefined) return ''
  const { webhookId } = filter
  const reading =
    webhookId === undefined
      ? firstOf(webhooks.list())
      : webhooks.get(webhookId).then((webhook) => [webhook])
  const held = (await reading.catch(() => [])).flatMap((webhook) => {
    const { description, url, circuit } = webhook
    const state = circuit === 'open' ? 'backing off' : stateOf(webhook)
    return state === 'enabled' ? [] : `; ${startOf(description ?? url, 60)} is ${state}`
  })
  return printable(held.slice(0, 3).join(''))
}

export function recoveryText(recovery: Recovery) {
  const { id, filter, matched, redelivered, status, tried } = recovery
  const end = status === 'cancelled' ? ' The recovery was cancelled.' : ''
  if (status === 'trying')
    return `The first delivery waits for its attempt. To follow the recovery, run: agent-messaging recoveries show ${id} --wait`
  if (status === 'paused')
    return [
      `The receiver did not accept the first delivery${tried ? `: ${tried.statusCode ?? ''} ${detailOf(tried)}` : ''}`,
      'The others were not sent.',
      `To send them, run: agent-messaging recoveries continue ${id} --wait`,
      `To end the recovery, run: agent-messaging recoveries cancel ${id}`,
    ].join('\n')
  const { one, many, again, next } = wordsOf(recovery)
  if (matched === 0) {
    if (filter.webhookIds) return `No stored event matches.${end}`
    const hint = filter.agentId === undefined ? ' To recover others, use --status.' : ''
    return `No ${filter.status} ${one} matches.${hint}${end}`
  }
  if (status === 'done') return resultOf(recovery)
  const due = redelivered === 1 ? `1 ${one} is` : `${count(redelivered)} ${many} are`
  const others = matched > redelivered ? ' The others were due already or being sent.' : ''
  return `${due} ${again}. ${next}${others}${end}`
}

/** Only a recovery that is done has a result. */
export function recoveryProblem(recovery: Recovery) {
  const { status, redelivered, delivered } = recovery
  const { many, accepted } = wordsOf(recovery)
  if (status === 'paused') return 'the first delivery was not accepted'
  return status === 'done' && delivered < redelivered
    ? `${count(redelivered - delivered)} of ${count(redelivered)} ${many} were not ${accepted}`
    : undefined
}

function resultOf(recovery: Recovery) {
  const { matched, redelivered, delivered, exhausted, cancelled, finishedAt = '' } = recovery
  const words = wordsOf(recovery)
  const others = [
    matched > redelivered && ` ${count(matched - redelivered)} were due already or being sent.`,
    exhausted > 0 && ` ${count(exhausted)} ${words.exhausted}.`,
    cancelled > 0 && ` ${count(cancelled)} cancelled.`,
  ]
  const accepted = `${count(delivered)} of ${count(redelivered)} ${words.accepted}`
  return `${accepted} by ${localTime(finishedAt)}.${others.filter(Boolean).join('')}`
}

const count = (many: number) => many.toLocaleString('en')
