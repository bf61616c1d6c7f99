import type { Webhook } from '@org/agent-messaging-core'
import { fieldsOf, fieldTime, type Filter } from './filter.js'
import { BASE } from './options.js'

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
      <Fields fields={{ ...fieldsOf(filter), total: isAll ? String(count) : '' }} />
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

type ProgressProps = {
  readonly webhookId: string
  readonly filter: Filter
  /** 0 if there were too many to count. */
  readonly total: number
  readonly checked: number
  readonly count: number
  readonly nextCursor: string | null
}

/** Shows the progress of a recovery, and continues it. */
export function Progress({ webhookId, filter, total, checked, count, nextCursor }: ProgressProps) {
  const address = `${BASE}/webhooks/${webhookId}`
  const isDone = nextCursor === null
  const done = isDone ? total : Math.min(checked, total)
  return (
    <div class="narrow card" id="recover" data-address={address}>
      <h1>Recover deliveries</h1>
      <p role="status" class="big">
        {deliveries(count)} will be sent again
      </p>
      {total > 0 && <progress max={total} value={done} aria-label="Checked" />}
      {isDone ? (
        <Done count={count} total={total} address={address} />
      ) : (
        <Step
          address={address}
          fields={{ ...fieldsOf(filter), ...counts({ total, checked, count }), cursor: nextCursor }}
        >
          {total > 0
            ? `${formatCount(done)} of ${formatCount(total)} checked.`
            : `${formatCount(checked)} checked so far. There are more.`}
        </Step>
      )}
    </div>
  )
}

const counts = (numbers: Readonly<Record<string, number>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)]))

const Done = ({
  count,
  total,
  address,
}: Pick<ProgressProps, 'count' | 'total'> & { readonly address: string }) => (
  <>
    <p class="muted">
      {count < total
        ? `Done. The other ${formatCount(total - count)} have changed or are being sent already.`
        : 'Done.'}
    </p>
    <p>
      <a class="button" href={address}>
        Back to the webhook
      </a>
    </p>
  </>
)

type StepProps = {
  readonly address: string
  readonly fields: Readonly<Record<string, string>>
  readonly children: string
}

function Step({ address, fields, children }: StepProps) {
  const nextStep = {
    'hx-post': `${address}/recover`,
    'hx-trigger': 'load delay:200ms',
    'hx-select': '#recover',
    'hx-target': '#recover',
    'hx-swap': 'outerHTML',
  }
  return (
    <form method="post" action={`${address}/recover`} {...nextStep} class="stack">
      <Fields fields={fields} />
      <p class="muted">{children}</p>
      <p>
        <button>Continue</button>
      </p>
    </form>
  )
}
