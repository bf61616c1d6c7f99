import type { Failure } from '@org/agent-messaging-core/host'
import { newRoutes, type ConsoleDeps, BASE } from './context.js'
import { messagePath, messagesPath, sessionsPath } from './messages/message-table.js'
import { retryPath } from './messages/retry-failed.js'
import { can, projectIn } from './parts/input.js'
import { deliveriesPath, recoverPath } from './parts/filter.js'
import { formatCount, FullTime, Status } from './parts/parts.js'
import { type Columns, Empty, listPage } from './parts/table.js'
import { useView } from './parts/zone.js'

/** Shows what fails now, and what failed in the last 24 hours. */
export const failureRoutes = ({ service }: ConsoleDeps) =>
  newRoutes().get('/failures', async (c) => {
    const { failures, recentFrom } = await service.failures({ projectId: projectIn(c) })
    return listPage(c, {
      title: 'Failures',
      section: 'Failures',
      before: (
        <p class="muted">
          Agents and webhooks that fail now, or failed in the last 24 hours. Recent failures are
          those since <FullTime at={recentFrom} />.
        </p>
      ),
      every: 5_000,
      page: {
        data: failures.filter(({ subject }) => can(c, NEEDED[subject])),
        nextCursor: null,
      },
      columns,
      empty: (
        <Empty title="Nothing fails">
          <p>No agent and no webhook failed in the last 24 hours.</p>
        </Empty>
      ),
    })
  })

const NEEDED = { agent: 'messages.list', webhook: 'webhooks.list' } as const

const columns: Columns<Failure> = {
  'Agent or webhook': {
    class: 'any',
    cell: ({ subject, id, name }) => (
      <>
        <a href={subject === 'agent' ? sessionsPath(id) : `${BASE}/webhooks/${id}`}>{name}</a>
        <div class="small muted">{subject}</div>
      </>
    ),
  },
  State: ({ isFailing }) =>
    isFailing ? <Status tone="bad" text="failing" /> : <Status tone="good" text="recovered" />,
  'Since about': { at: ({ since }) => since },
  Failed: {
    class: 'number',
    cell: (failure) => (
      <span class="nowrap">
        <a href={listOf(failure)}>{formatCount(failure.failed)}</a> of {formatCount(failure.ended)}
      </span>
    ),
  },
  Recent: {
    class: 'number',
    cell: ({ recent }) => (recent > 0 ? `+ ${formatCount(recent)}` : 'none'),
  },
  Reasons: ({ reasons }) =>
    reasons.map(({ reason, count }) => `${formatCount(count)} ${reason}`).join(', ') || '–',
  'Newest failure': {
    class: 'any',
    dir: 'auto',
    cell: ({ subject, last }) =>
      last ? (
        <>
          {last.id === undefined ? (
            <code>{last.reason}</code>
          ) : (
            <a href={subject === 'agent' ? messagePath(last.id) : `${BASE}/deliveries/${last.id}`}>
              <code>{last.reason}</code>
            </a>
          )}{' '}
          {last.text}
        </>
      ) : (
        '–'
      ),
  },
  Repair: {
    class: 'actions',
    cell: (failure) =>
      failure.subject === 'webhook' ? (
        <a class="button" href={recoverPath({ webhook: failure.id, status: 'failed' })}>
          Recover
        </a>
      ) : failure.failed === 0 ? (
        <a class="button" href={`${BASE}/agents?state=error`}>
          Show the state
        </a>
      ) : (
        can(useView().c, 'messages.retryFailed') && (
          <a class="button" href={retryPath(failure.id)}>
            Retry
          </a>
        )
      ),
  },
}

/** A message that failed in this time can be older, so all failed ones are listed and retried. */
const listOf = ({ subject, id, countedFrom }: Failure) =>
  subject === 'agent'
    ? messagesPath({ agent: id, state: 'failed' })
    : deliveriesPath({ webhook: id, answer: 'failed', from: countedFrom })
