import type { Instant, Recovery } from '@org/agent-messaging-core'
import { countText, formatCount } from '../parts/count.js'
import { BASE } from '../options.js'
import { FullTime, refreshed, Status, type Tone } from '../parts/parts.js'

type RecoveryPageProps = {
  readonly recovery: Recovery
  /** The number of matches before the start, if it was counted. */
  readonly total: number | undefined
  readonly now: Instant
  readonly path: string
}

/** Shows the progress of a recovery. A running one is shown again every second. */
export function RecoveryPage({ recovery, total, now, path }: RecoveryPageProps) {
  const { id, state, matched, redelivered, createdAt, filter } = recovery
  const isRunning = state.kind === 'running'
  const { tone, text } = recoveryLabel[state.kind]
  return (
    <div class="narrow card stack" {...(isRunning ? refreshed('recovery', 1_000, path) : {})}>
      <h1>Recover deliveries</h1>
      <p role="status" class="big">
        {countText({ count: redelivered, isAll: true }, 'delivery is', 'deliveries are')} due again
      </p>
      {total !== undefined && (
        <progress aria-label="Progress" max={Math.max(total, matched)} value={matched} />
      )}
      <p class="muted">
        {formatCount(matched)}
        {total !== undefined && ` of ${formatCount(Math.max(total, matched))}`}{' '}
        {isRunning ? (matched === 1 && total === undefined ? 'matches' : 'match') : 'matched'}
        {isRunning && ' so far'}.
        {matched > redelivered && ' The others were due already or being sent.'}
      </p>
      <p>
        <Status tone={tone}>{text}</Status> Started <FullTime at={createdAt} now={now} />.
        {isRunning && ' The server continues without this page.'}
      </p>
      {isRunning && (
        <form method="post" action={`${BASE}/recoveries/${id}/cancel`}>
          <button id="cancel">Cancel</button>
        </form>
      )}
      <p class="buttons">
        {isRunning && (
          <a class="button" href={path}>
            Reload
          </a>
        )}
        {filter.webhookId === undefined ? (
          <a class="button" href={`${BASE}/deliveries`}>
            Back to the deliveries
          </a>
        ) : (
          <a class="button" href={`${BASE}/webhooks/${filter.webhookId}`}>
            Back to the webhook
          </a>
        )}
      </p>
    </div>
  )
}

type Label = { readonly tone: Tone; readonly text: string }

export const recoveryLabel: Readonly<Record<Recovery['state']['kind'], Label>> = {
  running: { tone: 'busy', text: 'running' },
  done: { tone: 'good', text: 'done' },
  cancelled: { tone: 'idle', text: 'cancelled' },
  failed: { tone: 'bad', text: 'failed, because the webhook was deleted' },
}
