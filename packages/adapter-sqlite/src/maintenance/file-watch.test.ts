import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { aProject } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { tempFile } from '../../test/temp-file.js'
import { openSqliteStorage } from '../index.js'

const LOST = /was deleted, renamed or replaced while this process had it open/

it.each<[string, (path: string) => void]>([
  ['is deleted', (path) => rmSync(path)],
  ['is renamed', (path) => renameSync(path, `${path}.moved`)],
  [
    'is replaced by a copy',
    (path) => {
      copyFileSync(path, `${path}.copy`)
      renameSync(`${path}.copy`, path)
    },
  ],
  ['loses its log', (path) => rmSync(`${path}-wal`)],
])('a file that %s under a running process accepts no write', async (_, lose) => {
  const path = tempFile()
  const reported: string[] = []
  const storage = openSqliteStorage({ path, onDamage: (sentence) => reported.push(sentence) })
  const project = aProject()
  expect((await storage.credentials.createProject(project)).isOk()).toBe(true)
  lose(path)
  for (let i = 0; i < 2; i++) {
    const created = await storage.credentials.createProject(aProject({ id: 'later' }))
    expect(created._unsafeUnwrapErr().reason).toMatch(LOST)
  }
  expect((await storage.ping())._unsafeUnwrapErr().reason).toMatch(LOST)
  expect(reported).toEqual([expect.stringMatching(LOST)])
  await storage.close()
})

it('a file that is moved back is used again, with every write before and after', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  await storage.credentials.createProject(aProject({ id: 'before' }))
  renameSync(path, `${path}.moved`)
  expect((await storage.ping()).isErr()).toBe(true)
  renameSync(`${path}.moved`, path)
  expect((await storage.ping()).isOk()).toBe(true)
  await storage.credentials.createProject(aProject({ id: 'after' }))
  await storage.close()
  const reopened = openSqliteStorage({ path })
  const listed = await reopened.credentials.listProjects({ limit: 10 })
  expect(listed._unsafeUnwrap().data.map(({ id }) => id)).toEqual(['before', 'after'])
  await reopened.close()
})
