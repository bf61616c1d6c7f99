import { errAsync, type ResultAsync } from 'neverthrow'
import { broken, isUuid, required, type Invalid, type Rule } from './input-rules.js'

/** Lists a page. Refuses a page that a caller without types has left out or filled wrongly. */
export function ofPage<P extends object, T, E>(
  page: P,
  list: (page: P) => ResultAsync<T, E>,
): ResultAsync<T, E | Invalid> {
  const problem = broken(pageRules(page))
  return problem ? errAsync(problem.error) : list(page)
}

const isCount = (limit: unknown): boolean => Number.isSafeInteger(limit) && Number(limit) > 0

function pageRules(page: { readonly limit?: unknown; readonly cursor?: unknown } | undefined) {
  if (!page) return required({ page })
  const { limit, cursor } = page
  const isCursor = cursor === undefined || (typeof cursor === 'string' && isUuid(cursor))
  return {
    'page.limit': isCount(limit) ? undefined : 'must be a whole number above 0',
    'page.cursor': isCursor ? undefined : 'must be the nextCursor of the page before',
  } satisfies Record<string, Rule>
}
