import { BASE } from '../context.js'
import type { Recovery, Webhook } from '@org/agent-messaging-core'
import type { DeliveryAttempt } from '@org/agent-messaging-core/storage'
import {
  CopyButton,
  type Count,
  countText,
  Facts,
  formatCount,
  FullTime,
  type Label,
  Post,
  Status,
  Time,
  Card,
} from '../parts/parts.js'
import { messagesPath } from '../messages/message-table.js'
import { Fields, PostForm, Hidden } from '../parts/fields.js'
import { can } from '../parts/input.js'
import { deliveriesPath, fieldsOf, type Filter, filterFields } from '../parts/filter.js'
import { pathOf, refreshed, TableSection } from '../parts/table.js'
import { healthOf, webhookLabel, WebhookName } from '../parts/wording.js'
import { localTime, useView } from '../parts/zone.js'

const PATH = `${BASE}/recover`
/** Characters of an answer. */
const SHOWN = 200

type FormProps = { readonly filter: Filter; readonly webhooks: readonly Webhook[] }

/** Chooses the deliveries. The browser's time zone counts for the time range. */
export function RecoverForm({ filter, webhooks }: FormProps) {
  const { webhook, status, ...others } = filterFields(webhooks)
  return (
    <form method="get" action={PATH} class="filters card">
      <Fields
        fields={{
          webhook: { ...webhook, any: 'all webhooks' },
          status: { label: status.label, choices: status.choices },
          ...others,
        }}
        values={filter}
      />
      <p class="buttons">
        <button>Count the matches</button>
      </p>
    </form>
  )
}

/** Sends stored events to a webhook that never got them. */
export function ReplayForm({ webhooks }: Pick<FormProps, 'webhooks'>) {
  const { c } = useView()
  const { webhook, from, to } = filterFields(webhooks)
  if (!can(c, 'recoveries.start') || webhooks.length === 0) return null
  return (
    <PostForm
      action={`${PATH}/events`}
      class="card stack"
      intro={
        <>
          <h2>Send stored events to a webhook</h2>
          <p class="muted">
            A new webhook gets new deliveries of the events to which it subscribes, oldest first.
          </p>
        </>
      }
      fields={{
        webhook: { label: webhook.label, choices: webhook.choices, id: 'events-webhook' },
        type: { label: 'Type or group', placeholder: 'order.*' },
        from: { ...from, id: 'events-from', required: true },
        to: { ...to, id: 'events-to' },
      }}
      button="Send the events"
    />
  )
}

/** Shows the number of matches and the consequences, and starts the recovery. */
export function RecoverPreview({
  filter,
  webhooks,
  matching,
}: FormProps & { readonly matching: Count }) {
  const { count, isAll } = matching
  const { c, zone } = useView()
  const matches = countText(matching, 'delivery matches', 'deliveries match')
  const title =
    count === 0 ? 'No delivery matches' : matches.charAt(0).toUpperCase() + matches.slice(1)
  if (count === 0 || !can(c, 'recoveries.start'))
    return (
      <Card id="matches" title={title}>
        <p class="muted">{describe(filter, zone)}</p>
        {count === 0 && filter.status === 'exhausted' && (
          <p>The status failed also covers deliveries that have retries left.</p>
        )}
      </Card>
    )
  return (
    <form method="post" action={PATH} class="card stack" aria-labelledby="matches">
      <h2 id="matches" class="big">
        {title}
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
      <Hidden values={{ ...fieldsOf(filter), total: isAll ? String(count) : undefined }} />
      <p class="buttons">
        <button class="primary">
          {isAll ? `Send ${formatCount(count)} again` : 'Send all again'}
        </button>
        <button name="try" value="first">
          Try one, then send all
        </button>
        <a href={deliveriesPath(filter)}>Show them</a>
      </p>
    </form>
  )
}

const receivers = ({ webhook }: Filter, webhooks: readonly Webhook[]) =>
  webhook === undefined
    ? 'the receivers of all webhooks'
    : webhooks
        .filter(({ id }) => id === webhook)
        .map(webhookLabel)
        .join()

/** Describes the selected deliveries. */
function describe({ status, event, answer, from, to }: Filter, zone: string) {
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

export const webhooksIn = ({ webhookId, webhookIds = [] }: Recovery['filter']) =>
  webhookId === undefined ? webhookIds : [webhookId]

type RecoveriesProps = {
  readonly recoveries: readonly Recovery[]
  readonly webhooks: readonly Webhook[]
}

/** Lists the newest recoveries. */
export function Recoveries({ recoveries, webhooks }: RecoveriesProps) {
  if (recoveries.length === 0) return null
  const names = new Map(webhooks.map((webhook) => [webhook.id, webhookLabel(webhook)]))
  return (
    <TableSection
      id="recoveries"
      title="Newest recoveries"
      rows={recoveries}
      columns={{
        Started: ({ id, createdAt }) => (
          <a href={`${BASE}/recoveries/${id}`}>
            <Time at={createdAt} />
          </a>
        ),
        State: ({ state }) => <Status {...recoveryLabel[state.kind]} />,
        Webhook: ({ filter }) => {
          if (filter.agentId !== undefined) return 'messages of an agent'
          return (
            webhooksIn(filter)
              .map((id) => names.get(id) ?? id)
              .join() || 'all'
          )
        },
        Accepted: {
          class: 'number',
          cell: ({ delivered, redelivered }) =>
            `${formatCount(delivered)} of ${formatCount(redelivered)}`,
        },
      }}
    />
  )
}

type RecoveryPageProps = {
  readonly recovery: Recovery & { readonly tried?: DeliveryAttempt | undefined }
  /** Empty: all webhooks. Undefined: it was deleted. */
  readonly webhook: Webhook | '' | undefined
  /** The page that customers can open. Undefined for customers. */
  readonly address: string | undefined
  /** The number of matches before the start, if it was counted. */
  readonly total: number | undefined
}

const OF_DELIVERIES = {
  title: 'Recover deliveries',
  accepted: 'accepted',
  waiting: 'Waiting for their attempt',
  exhausted: 'Out of retries',
  back: 'Back to the deliveries',
}
const OF_MESSAGES = {
  title: 'Retry failed messages',
  accepted: 'answered',
  waiting: 'Waiting or running',
  exhausted: 'Failed again',
  back: 'Back to the messages',
}

/** Counting more deliveries takes a noticeable time. */
const QUICK = 10_000

/** Shows the progress of a recovery. One that has not ended is shown again every second. */
export function RecoveryPage({ recovery, webhook, address, total = 0 }: RecoveryPageProps) {
  const { c, now } = useView()
  const path = pathOf(c)
  const { id, state, matched, redelivered, createdAt, filter } = recovery
  const isOfMessages = filter.agentId !== undefined
  const words = isOfMessages ? OF_MESSAGES : OF_DELIVERIES
  const isRunning = state.kind === 'running' || state.kind === 'trying'
  const isOpen = isRunning || state.kind === 'sending'
  const isPaused = state.kind === 'paused'
  const ended = redelivered - recovery.waiting - recovery.failing
  const isUnknown = isRunning && total === 0
  const [value, max] =
    state.kind === 'running' ? [matched, Math.max(total, matched)] : [ended, redelivered]
  const some = (count: number) => count > 0 && formatCount(count)
  return (
    <div
      class="narrow card stack"
      {...(isOpen
        ? refreshed('recovery', redelivered > QUICK ? 5_000 : 1_000, path)
        : { id: 'recovery' })}
    >
      <h1>{words.title}</h1>
      <Result recovery={recovery} accepted={words.accepted} />
      {isOpen && max > 0 && (
        <progress aria-label="Progress" max={max} value={isUnknown ? undefined : value} />
      )}
      <Facts
        isCard={false}
        facts={{
          Webhook: !isOfMessages && (webhook === '' ? 'all' : <WebhookName webhook={webhook} />),
          'Its health': isOpen && webhook && <Status {...healthOf(webhook, now)} />,
          Matches: `${formatCount(matched)}${isRunning ? ' so far' : ''}`,
          'Due already or being sent': some(matched - redelivered),
          [words.waiting]: some(recovery.waiting),
          'Failing, with retries left': some(recovery.failing),
          [words.exhausted]: some(recovery.exhausted),
          'Cancelled or erased': some(recovery.cancelled),
        }}
      />
      <p>
        <Status {...recoveryLabel[state.kind]} /> Started <FullTime at={createdAt} />.
        {isOpen && ' The server continues without this page.'}
      </p>
      {state.kind === 'trying' && webhook && <WaitingTry webhook={webhook} />}
      {isPaused && <Tried recovery={recovery} />}
      {isPaused && (
        <Post call="recoveries.continue" to={`/recoveries/${id}/continue`} id="continue">
          Send the others
        </Post>
      )}
      {(isRunning || isPaused) && (
        <Post call="recoveries.cancel" to={`/recoveries/${id}/cancel`} id="cancel">
          Cancel
        </Post>
      )}
      {address !== undefined && !isOfMessages && (
        <p class="muted small">
          Customers can open this page after they have opened their portal: <code>{address}</code>
          <CopyButton text={address} what="address" />
        </p>
      )}
      <p class="buttons">
        {isOpen && (
          <a class="button" href={path}>
            Reload
          </a>
        )}
        <a
          class="button"
          href={isOfMessages ? messagesPath({ agent: filter.agentId }) : `${BASE}/deliveries`}
        >
          {words.back}
        </a>
      </p>
    </div>
  )
}

/** Shows what a try waits for. */
const WaitingTry = ({ webhook }: { readonly webhook: Webhook }) =>
  healthOf(webhook, useView().now).tone === 'bad' && (
    <p>
      The delivery waits until the webhook is tried again, behind older ones.{' '}
      <a href={`${BASE}/webhooks/${webhook.id}`}>Send a test event</a> to ask the receiver now.
    </p>
  )

type ResultProps = Pick<RecoveryPageProps, 'recovery'> & { readonly accepted: string }
const Result = ({ recovery: { state, delivered, redelivered }, accepted }: ResultProps) => (
  <p role="status" class="big">
    {formatCount(delivered)} of {formatCount(redelivered)} {accepted}
    {state.kind === 'done' && (
      <>
        {' by '}
        <FullTime at={state.finishedAt} />
      </>
    )}
  </p>
)

/** Shows why a recovery is paused. */
const Tried = ({ recovery: { tried, triedDeliveryId } }: Pick<RecoveryPageProps, 'recovery'>) => (
  <p role="alert">
    The first delivery was not accepted, so the others were not sent.{' '}
    {tried && tried.outcome.kind !== 'unreachable' && (
      <>
        The receiver answered {tried.outcome.statusCode}
        {tried.outcome.responseBody !== '' && (
          <>
            : <q>{tried.outcome.responseBody.slice(0, SHOWN)}</q>
          </>
        )}
        .{' '}
      </>
    )}
    {tried?.outcome.kind === 'unreachable' && (
      <>The receiver was not reached: {tried.outcome.detail}. </>
    )}
    {triedDeliveryId !== undefined && (
      <a href={`${BASE}/deliveries/${triedDeliveryId}`}>Show the delivery</a>
    )}
  </p>
)

const recoveryLabel: Readonly<Record<Recovery['state']['kind'], Label>> = {
  running: { tone: 'busy', text: 'looking for matches' },
  trying: { tone: 'busy', text: 'trying one delivery' },
  paused: { tone: 'bad', text: 'paused' },
  sending: { tone: 'busy', text: 'sending' },
  done: { tone: 'good', text: 'done' },
  cancelled: { tone: 'idle', text: 'cancelled' },
  failed: { tone: 'bad', text: 'failed, because the webhook or the agent was deleted' },
}
