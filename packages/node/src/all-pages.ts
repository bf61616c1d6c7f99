import type { Page } from '@org/agent-messaging-core'
import type { PageOf } from '@org/agent-messaging-core/storage'
import { valueOrSetupError } from './setup-error.js'

const PAGE_LENGTH = 100

/** Reads all pages of a list. */
export async function allPages<T>(
  list: (page: PageOf) => Promise<Page<T>>,
  failure: string,
): Promise<T[]> {
  const rows: T[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await valueOrSetupError(list({ limit: PAGE_LENGTH, cursor }), failure)
    rows.push(...page.data)
    cursor = page.nextCursor
  }
  return rows
}
