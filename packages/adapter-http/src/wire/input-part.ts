import type { Json } from '@org/agent-messaging-core'
import { inputPartSettings, type InputData, type InputFile } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { answerFields, requestFields } from '../described.js'
import { variants } from './variants.js'
import { named } from './body.js'

const { data: _, ...dataSettings } = inputPartSettings.data
const json = z.custom<Json>().describe('Any JSON, at most 16 levels deep.')

const partOf = <Data extends z.ZodRawShape, File extends z.ZodRawShape>(
  prefix: string,
  data: Data,
  file: File,
) =>
  variants('type', [
    named(`${prefix}DataPart`, { type: z.literal('data'), ...data, data: json }),
    named(
      `${prefix}FilePart`,
      { type: z.literal('file'), ...file },
      { description: 'A file by reference.' },
    ),
  ])

type DataFields = Omit<InputData, 'type' | 'data'>
type FileFields = Omit<InputFile, 'type'>

export const inputPartSchema = partOf(
  '',
  answerFields<DataFields>(dataSettings),
  answerFields<FileFields>(inputPartSettings.file),
)
/** Only for documents and types: the domain checks parts. */
export const newInputPartSchema = partOf(
  'New',
  requestFields<DataFields>(dataSettings),
  requestFields<FileFields>(inputPartSettings.file),
)
