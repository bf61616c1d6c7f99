import { expect, it } from 'vitest'
import { assignments, insertList, selectList } from './columns.js'

const PROPERTIES = ['id', 'responseTimeMs']

it('columns are written in snake case', () => {
  expect(selectList(PROPERTIES)).toBe('id, response_time_ms as "responseTimeMs"')
  expect(selectList(PROPERTIES, 'm')).toBe('m.id, m.response_time_ms as "responseTimeMs"')
  expect(insertList(PROPERTIES)).toBe('(id, response_time_ms) values (@id, @responseTimeMs)')
  expect(assignments(PROPERTIES)).toBe('id = @id, response_time_ms = @responseTimeMs')
})
