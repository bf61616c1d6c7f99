import { retrySettings } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { type ConsoleDeps, newRoutes, BASE } from '../context.js'
import { PostForm, TIME_RANGE } from '../parts/fields.js'
import { fieldsOf, optional, timeRange } from '../parts/filter.js'
import { agentRef, byActor, can, type Form } from '../parts/input.js'
import { goTo, show, showProblem, need } from '../parts/layout.js'
import { countText } from '../parts/parts.js'
import { zoneOf } from '../parts/zone.js'
import { messagesPath } from './message-table.js'

const MOST_COUNTED = 10_000
const ERRORS = retrySettings.errorCode.enum

const filterIn = (fields: Form, zone: string) =>
  z
    .object({
      error: optional(z.enum(ERRORS)),
      ...timeRange(zone),
    })
    .parse(fields)
type RetryFilter = Partial<ReturnType<typeof filterIn>>

/** Returns the address of the page that retries an agent's failed messages. */
export const retryPath = (agent: string, filter: RetryFilter = {}) =>
  `${BASE}/agents/${agent}/retry?${new URLSearchParams(fieldsOf(filter)).toString()}`

/** Retries the failed messages of an agent. The page of the recovery shows the progress. */
export const retryFailedRoutes = ({ service }: ConsoleDeps) => {
  const mayRetry = need('messages.retryFailed')
  return newRoutes()
    .get('/agents/:agent/retry', mayRetry, async (c) => {
      const ref = agentRef(c)
      const agent = await service.agents.get(ref)
      const most = MOST_COUNTED + 1
      const count = await service.messages.count({ ...ref, state: 'failed', most })
      const failed = { count: Math.min(count, MOST_COUNTED), isAll: count <= MOST_COUNTED }
      return show(
        c,
        { title: 'Retry failed messages', section: 'Conversations' },
        <PostForm
          class="narrow card stack"
          intro={
            <>
              <h1>Retry failed messages</h1>
              <p>
                <a href={messagesPath({ agent: agent.id, state: 'failed' })}>
                  {countText(failed, 'message', 'messages')}
                </a>{' '}
                of the agent <strong>{agent.name}</strong> {count === 1 ? 'is' : 'are'} failed now.
              </p>
            </>
          }
          fields={{ error: { label: 'Error', any: 'any', choices: ERRORS }, ...TIME_RANGE }}
          values={filterIn(c.req.query(), zoneOf(c))}
          button="Retry all of these"
        >
          <ul class="consequences">
            <li>Each message runs again, the oldest first, at the end of its session.</li>
            <li>
              The limits of the agent hold. Messages wait while the agent does not run, and for room
              in full sessions.
            </li>
            <li>
              <strong>The agent</strong> gets these messages a second time.
            </li>
          </ul>
        </PostForm>,
      )
    })

    .post('/agents/:agent/retry', mayRetry, async (c) => {
      const form = await c.req.parseBody()
      const filter = filterIn(form, zoneOf(c))
      // A field that is ignored would retry more than the form names.
      const lost = (['error', 'from', 'to'] as const).find(
        (name) => (form[name] ?? '') !== '' && filter[name] === undefined,
      )
      if (lost !== undefined) return showProblem(c, 400, `The field ${lost} selects no messages`)
      const { error, from, to } = filter
      const ref = agentRef(c)
      const { id } = await service.messages.retryFailed(
        byActor(c, {
          ...ref,
          ...(error && { errorCode: error }),
          ...(from !== undefined && { createdAfter: from }),
          ...(to !== undefined && { createdBefore: to }),
        }),
      )
      return goTo(
        c,
        can(c, 'recoveries.get')
          ? `/recoveries/${id}`
          : `/conversations?agent=${ref.agent}&notice=retriedAll`,
      )
    })
}
