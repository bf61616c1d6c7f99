import { describeStorageContract } from '@org/agent-messaging-core/contract'
import { onFile } from './contract-storages.js'

describeStorageContract('SQLite on a file', onFile, ['deliveries'])
