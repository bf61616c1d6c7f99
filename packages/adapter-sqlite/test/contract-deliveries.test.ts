import { describeStorageContract } from '@org/agent-messaging-testing/contract'
import { onFile } from './contract-storages.js'

describeStorageContract('SQLite on a file', onFile, ['deliveries'])
