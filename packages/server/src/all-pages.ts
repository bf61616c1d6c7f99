import type { Page, PageOf } from '@org/agent-messaging-core'
import type { Stored } from '@org/agent-messaging-core/storage'
import { orFail } from './operator-error.js'

const PAGE_LENGTH = 100

/** Every row of a list, page by page. */
export async function allPages<T>(
  list: (page: PageOf) => Stored<Page<T>>,
  what: string,
): Promise<T[]> {
  const rows: T[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Page<T> = await orFail(
      list({ limit: PAGE_LENGTH, ...(cursor !== undefined && { cursor }) }),
      what,
    )
    rows.push(...page.data)
    cursor = page.nextCursor
  }
  return rows
}
