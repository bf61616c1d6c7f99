import type { Instant, Recovery, Webhook } from '@org/agent-messaging-core'
import { fieldsOf, fieldTime, type Filter } from './filter.js'
import { BASE } from './options.js'
import { refreshed, Status, Time } from './parts.js'

const formatCount = (count: number): string => count.toLocaleString('en')

/** Describes the selected deliveries. */
function describeFilter({ status, event, answer, from, to }: Filter): string {
  const parts = [
    `Status ${status}`,
    event && `event ${event}`,
    answer && `last answer ${answer === 'none' ? 'unreachable' : answer}`,
    from !== undefined && `created from ${fieldTime(from).replace('T', ' ')}`,
    to !== undefined && `created before ${fieldTime(to).replace('T', ' ')}`,
  ]
  return `${parts.filter(Boolean).join(', ')}${from === undefined && to === undefined ? '' : ' (UTC)'}.`
}

const deliveries = (count: number): string =>
  `${formatCount(count)} ${count === 1 ? 'delivery' : 'deliveries'}`

const Fields = ({ fields }: { readonly fields: Readonly<Record<string, string>> }) =>
  Object.entries(fields).map(([name, value]) => <input type="hidden" name={name} value={value} />)

/** `isAll` is false if more deliveries match than were counted. */
export type Matching = { readonly count: number; readonly isAll: boolean }

type RecoverPreviewProps = {
  readonly webhook: Webhook
  readonly matching: Matching
  readonly filter: Filter
}

/** Shows how many deliveries match, and asks whether to send them again. */
export function RecoverPreview({
  webhook: { id, url },
  matching: { count, isAll },
  filter,
}: RecoverPreviewProps) {
  const address = `${BASE}/webhooks/${id}`
  const list = `${BASE}/deliveries?${new URLSearchParams(fieldsOf({ ...filter, webhook: id })).toString()}`
  return (
    <form method="post" action={`${address}/recover`} class="narrow card stack">
      <h1>Recover deliveries</h1>
      <p class="url">{url}</p>
      <p class="muted">{describeFilter(filter)}</p>
      <p class="big">
        {count === 0
          ? 'No delivery matches'
          : `${isAll ? '' : 'More than '}${deliveries(count)} ${count === 1 ? 'matches' : 'match'}`}
      </p>
      {count > 0 && <p>They keep their ids and bodies, and are sent at the usual rate.</p>}
      <Fields fields={fieldsOf(filter)} />
      <p class="buttons">
        {count > 0 && (
          <button class="primary">
            {isAll ? `Send ${formatCount(count)} again` : 'Send all again'}
          </button>
        )}
        <a class="button" href={address}>
          {count > 0 ? 'Cancel' : 'Back to the webhook'}
        </a>
        {count > 0 && <a href={list}>Show them</a>}
      </p>
    </form>
  )
}

type RecoveryPageProps = {
  readonly recovery: Recovery
  readonly now: Instant
  readonly path: string
}

/** Shows the progress of a recovery. A running one is shown again every second. */
export function RecoveryPage({ recovery, now, path }: RecoveryPageProps) {
  const { id, state, matched, redelivered, createdAt, filter } = recovery
  const isRunning = state.kind === 'running'
  const { webhookId } = filter
  return (
    <div class="narrow card stack" {...(isRunning ? refreshed('recovery', 1_000, path) : {})}>
      <h1>Recover deliveries</h1>
      <p role="status" class="big">
        {deliveries(redelivered)} {redelivered === 1 ? 'is' : 'are'} due again
      </p>
      <p class="muted">
        {formatCount(matched)} {matched === 1 ? 'matches' : 'match'} so far. The others were due
        already or being sent.
      </p>
      <p>
        <Status tone={isRunning ? 'busy' : state.kind === 'done' ? 'good' : 'idle'}>
          {stateTexts[state.kind]}
        </Status>{' '}
        Started <Time at={createdAt} now={now} />.
        {isRunning && ' The server continues without this page.'}
      </p>
      {isRunning && (
        <form method="post" action={`${BASE}/recoveries/${id}/cancel`}>
          <button>Cancel</button>
        </form>
      )}
      <p class="buttons">
        {isRunning && (
          <a class="button" href={path}>
            Reload
          </a>
        )}
        {webhookId !== undefined && (
          <a class="button" href={`${BASE}/webhooks/${webhookId}`}>
            Back to the webhook
          </a>
        )}
      </p>
    </div>
  )
}

const stateTexts: Readonly<Record<Recovery['state']['kind'], string>> = {
  running: 'running',
  done: 'done',
  cancelled: 'cancelled',
  failed: 'failed, because the webhook was deleted',
}
