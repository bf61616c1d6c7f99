import type { Instant, Recovery, Webhook } from '@org/agent-messaging-core'
import { useContext } from 'hono/jsx'
import { countText, formatCount, type Count } from '../parts/count.js'
import { ANSWERS, EVENTS, fieldsOf, STATUSES, type Filter } from '../parts/filter.js'
import { FilterFields } from '../parts/filter-fields.js'
import { BASE } from '../options.js'
import { Status, Time } from '../parts/parts.js'
import { recoveryLabel } from './recover-page.js'
import { webhookLabel } from '../webhooks/webhook-name.js'
import { localTime, ZoneContext } from '../parts/zone.js'

type FormProps = { readonly filter: Filter; readonly webhooks: readonly Webhook[] }

/** Chooses the deliveries. The browser's time zone counts for the time range. */
export const RecoverForm = ({ filter, webhooks }: FormProps) => (
  <form method="get" action={`${BASE}/recover`} class="filters card">
    <FilterFields
      filter={filter}
      choices={{
        webhook: webhooks.map((webhook) => [webhook.id, webhookLabel(webhook)]),
        status: STATUSES.map((status) => [status, status]),
        event: EVENTS.map((event) => [event, event]),
        answer: ANSWERS.map((answer) => [answer, answer === 'none' ? 'unreachable' : answer]),
      }}
      all={{ webhook: 'all webhooks' }}
      required={['status']}
    />
    <p class="buttons">
      <button>Count the matches</button>
    </p>
  </form>
)

/** Shows the number of matches and the consequences, and starts the recovery. */
export function RecoverPreview({
  filter,
  webhooks,
  matching,
}: FormProps & { readonly matching: Count }) {
  const { count, isAll } = matching
  const zone = useContext(ZoneContext)
  const list = `${BASE}/deliveries?${new URLSearchParams(fieldsOf(filter)).toString()}`
  if (count === 0)
    return (
      <section class="card" aria-labelledby="matches">
        <h2 id="matches">No delivery matches</h2>
        <p class="muted">{describe(filter, zone)}</p>
        {filter.status === 'exhausted' && (
          <p>Failed deliveries that wait for their next attempt have the status pending.</p>
        )}
      </section>
    )
  return (
    <form method="post" action={`${BASE}/recover`} class="card stack" aria-labelledby="matches">
      <h2 id="matches" class="big">
        {sentence(countText(matching, 'delivery matches', 'deliveries match'))}
      </h2>
      <p class="muted">{describe(filter, zone)}</p>
      <ul class="consequences">
        <li>They go to {receivers(filter, webhooks)} at the usual rate, newest first.</li>
        <li>A webhook that is paused or disabled keeps them until you resume or enable it.</li>
        <li>
          <strong>The receiver</strong> can get an event a second time, and must ignore the ids of
          events that it already knows.
        </li>
      </ul>
      {Object.entries({ ...fieldsOf(filter), ...(isAll && { total: String(count) }) }).map(
        ([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ),
      )}
      <p class="buttons">
        <button class="primary">
          {isAll ? `Send ${formatCount(count)} again` : 'Send all again'}
        </button>
        <a href={list}>Show them</a>
      </p>
    </form>
  )
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const receivers = ({ webhook }: Filter, webhooks: readonly Webhook[]): string =>
  webhook === undefined
    ? 'the receivers of all webhooks'
    : webhooks
        .filter(({ id }) => id === webhook)
        .map(webhookLabel)
        .join()

/** Describes the selected deliveries. */
function describe({ status, event, answer, from, to }: Filter, zone: string): string {
  const parts = [
    `Status ${status}`,
    event && `event ${event}`,
    answer && `last answer ${answer === 'none' ? 'unreachable' : answer}`,
    from !== undefined && `created from ${localTime(from, zone).slice(0, 16)}`,
    to !== undefined && `created before ${localTime(to, zone).slice(0, 16)}`,
  ]
  const isTimed = from !== undefined || to !== undefined
  return `${parts.filter(Boolean).join(', ')}${isTimed ? ` (${zone})` : ''}.`
}

type RecoveriesProps = {
  readonly recoveries: readonly Recovery[]
  readonly webhooks: readonly Webhook[]
  readonly now: Instant
}

/** Lists the newest recoveries. */
export function Recoveries({ recoveries, webhooks, now }: RecoveriesProps) {
  if (recoveries.length === 0) return null
  const names = new Map(webhooks.map((webhook) => [webhook.id, webhookLabel(webhook)]))
  return (
    <section class="card flush" aria-labelledby="recoveries">
      <h2 id="recoveries">Newest recoveries</h2>
      <div class="scroll" role="group" aria-labelledby="recoveries" tabindex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Started</th>
              <th scope="col">State</th>
              <th scope="col">Webhook</th>
              <th scope="col" class="number">
                Due again
              </th>
            </tr>
          </thead>
          <tbody>
            {recoveries.map(({ id, state, createdAt, redelivered, filter: { webhookId } }) => (
              <tr>
                <th scope="row">
                  <a href={`${BASE}/recoveries/${id}`}>
                    <Time at={createdAt} now={now} />
                  </a>
                </th>
                <td data-label="State">
                  <Status tone={recoveryLabel[state.kind].tone}>
                    {recoveryLabel[state.kind].text}
                  </Status>
                </td>
                <td data-label="Webhook">
                  {webhookId === undefined ? 'all' : (names.get(webhookId) ?? webhookId)}
                </td>
                <td class="number" data-label="Due again">
                  {formatCount(redelivered)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
