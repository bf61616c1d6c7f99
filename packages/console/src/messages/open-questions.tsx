import { orUndefined } from '@org/agent-messaging-core/host'
import type { MiddlewareHandler } from 'hono'
import { type ConsoleDeps, type Env, BASE } from '../context.js'
import type { Count } from '../parts/parts.js'
import { can, projectIn } from '../parts/input.js'
import { isPortalPath } from '../access/portal-pages.js'

/** One read of a store returns this many. */
const MOST_COUNTED = 20

/** Lets the navigation count the open questions of the project, if the session can open them. */
export const countsQuestions =
  ({ service }: ConsoleDeps): MiddlewareHandler<Env> =>
  async (c, next) => {
    const portal = c.get('portal')
    c.set('openQuestions', async () => {
      const isOpen = !portal || isPortalPath(`${BASE}/questions`, portal.permissions)
      if (!isOpen || !can(c, 'inputs.list')) return undefined
      const page = { limit: MOST_COUNTED }
      const found = await orUndefined(service.inputs.list({ projectId: projectIn(c), ...page }))
      return found && { count: found.data.length, isAll: found.nextCursor === null }
    })
    await next()
  }

/** Shows the number beside the name of the section. Screen readers say that they are open. */
export function QuestionCount({ open }: { readonly open: Count | undefined }) {
  if (!open || open.count === 0) return null
  const { count, isAll } = open
  return (
    <>
      {' '}
      <span class="number">
        {isAll ? count : `${count}+`}
        <span class="unseen"> open</span>
      </span>
    </>
  )
}
