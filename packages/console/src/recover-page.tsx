import type { Webhook } from '@org/agent-messaging-core'
import { fieldsOf, fieldTime, type Filter } from './filter.js'
import { BASE } from './options.js'

const shown = (count: number): string => count.toLocaleString('en')

/** What is meant, in words. */
function inWords({ status, event, answer, from, to }: Filter): string {
  const parts = [
    `Status ${status}`,
    event && `event ${event}`,
    answer && `last answer ${answer === 'none' ? 'none: not reached' : answer}`,
    from !== undefined && `created from ${fieldTime(from).replace('T', ' ')}`,
    to !== undefined && `created before ${fieldTime(to).replace('T', ' ')}`,
  ]
  return `${parts.filter(Boolean).join(', ')}${from === undefined && to === undefined ? '' : ' (UTC)'}.`
}

const deliveries = (count: number): string =>
  `${shown(count)} ${count === 1 ? 'delivery' : 'deliveries'}`

const Fields = ({ fields }: { readonly fields: Readonly<Record<string, string>> }) =>
  Object.entries(fields).map(([name, value]) => <input type="hidden" name={name} value={value} />)

/** `isAll`: there are no more than these. */
export type Matching = { readonly count: number; readonly isAll: boolean }

type AskingProps = {
  readonly webhook: Webhook
  readonly matching: Matching
  readonly filter: Filter
}

/** How many match, and whether to send them. */
export function Asking({ webhook: { id, url }, matching: { count, isAll }, filter }: AskingProps) {
  const address = `${BASE}/webhooks/${id}`
  const list = `${BASE}/deliveries?${new URLSearchParams(fieldsOf({ ...filter, webhook: id })).toString()}`
  return (
    <form method="post" action={`${address}/recover`} class="narrow card stack">
      <h1>Recover</h1>
      <p class="url">{url}</p>
      <p class="muted">{inWords(filter)}</p>
      <p class="big">
        {count === 0
          ? 'No delivery matches'
          : `${isAll ? '' : 'More than '}${deliveries(count)} ${count === 1 ? 'matches' : 'match'}`}
      </p>
      {count > 0 && <p>They keep their ids and bodies, and go out no faster than usual.</p>}
      <Fields fields={{ ...fieldsOf(filter), total: isAll ? String(count) : '' }} />
      <p class="buttons">
        {count > 0 && (
          <button class="primary">
            {isAll ? `Send ${shown(count)} again` : 'Send them again'}
          </button>
        )}
        <a class="button" href={address}>
          {count > 0 ? 'Not now' : 'Go to the webhook'}
        </a>
        {count > 0 && <a href={list}>See which</a>}
      </p>
    </form>
  )
}

type ProgressProps = {
  readonly webhookId: string
  readonly filter: Filter
  /** 0 when there were too many to count. */
  readonly total: number
  readonly looked: number
  readonly count: number
  readonly nextCursor: string | null
}

/** How far it has come. */
export function Progress({ webhookId, filter, total, looked, count, nextCursor }: ProgressProps) {
  const address = `${BASE}/webhooks/${webhookId}`
  const isOver = nextCursor === null
  const done = isOver ? total : Math.min(looked, total)
  return (
    <div class="narrow card" id="recover" data-address={address}>
      <h1>Recover</h1>
      <p role="status" class="big">
        {deliveries(count)} {count === 1 ? 'is' : 'are'} sent again
      </p>
      {total > 0 && <progress max={total} value={done} aria-label="Looked at" />}
      {isOver ? (
        <Over count={count} total={total} address={address} />
      ) : (
        <Going
          address={address}
          fields={{ ...fieldsOf(filter), ...counts({ total, looked, count }), cursor: nextCursor }}
        >
          {total > 0
            ? `${shown(done)} of ${shown(total)} looked at.`
            : `${shown(looked)} looked at so far; there are more.`}
        </Going>
      )}
    </div>
  )
}

const counts = (numbers: Readonly<Record<string, number>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)]))

const Over = ({
  count,
  total,
  address,
}: Pick<ProgressProps, 'count' | 'total'> & { readonly address: string }) => (
  <>
    <p class="muted">
      {count < total
        ? `That was all. The other ${shown(total - count)} were on their way already, or changed meanwhile.`
        : 'That was all.'}
    </p>
    <p>
      <a class="button" href={address}>
        Go to the webhook
      </a>
    </p>
  </>
)

type GoingProps = {
  readonly address: string
  readonly fields: Readonly<Record<string, string>>
  readonly children: string
}

function Going({ address, fields, children }: GoingProps) {
  const goesOn = {
    'hx-post': `${address}/recover`,
    'hx-trigger': 'load delay:200ms',
    'hx-select': '#recover',
    'hx-target': '#recover',
    'hx-swap': 'outerHTML',
  }
  return (
    <form method="post" action={`${address}/recover`} {...goesOn} class="stack">
      <Fields fields={fields} />
      <p class="muted">{children}</p>
      <p>
        <button>Go on</button>
      </p>
    </form>
  )
}
