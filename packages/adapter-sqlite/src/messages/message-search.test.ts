import type { MessageSearch } from '@org/agent-messaging-core/storage'
import { anAgent, aProject, newMessage, PROJECT_ID, unwrap } from '@org/agent-messaging-testing'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { tempFile } from '../../test/temp-file.js'
import { performer } from '../database/operations.js'
import { GroupCommitter } from '../database/group-committer.js'
import { openSqliteStorage } from '../open.js'
import { searchInSteps } from './search-in-steps.js'

const MOST_READ = 10

it.each([{ createdBefore: 3 }, { createdBefore: 3, text: 'h' }])(
  'a page of a session with %j reads a bounded number of messages, and the next page continues',
  async (filter) => {
    const path = tempFile()
    const { agents, credentials, messages, close } = openSqliteStorage({ path })
    await credentials.createProject(aProject())
    const [first, second] = [anAgent(), anAgent()]
    for (const agent of [first, second]) await agents.create(agent, 10)
    const sent: string[] = []
    for (let n = 0; n < 40; n++) {
      const message = newMessage(n < 20 ? first : second, { sessionId: 's', now: n })
      await messages.accept(message)
      sent.push(message.id)
    }
    await close()
    const db = new Database(path, { readonly: true })
    const committer = new GroupCommitter(db, { maxQueued: 1, busyTimeoutMs: 0 })
    const search = searchInSteps(committer, performer(db), MOST_READ)
    const pages: string[][] = []
    const wanted: MessageSearch = { projectId: PROJECT_ID, sessionId: 's', ...filter }
    let cursor: string | null | undefined
    while (cursor !== null) {
      const found = await search(wanted, { limit: 2, ...(cursor !== undefined && { cursor }) })
      const page = unwrap(found)
      pages.push(page.data.map(({ id }) => id))
      cursor = page.nextCursor
    }
    db.close()
    expect(pages.flat()).toEqual([sent[2], sent[1], sent[0]])
    expect(pages.length).toBeGreaterThanOrEqual(40 / MOST_READ)
  },
)
