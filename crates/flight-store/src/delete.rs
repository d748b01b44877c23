//! Durable deletes.

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::entries::Entries;
use crate::error::StoreError;
use crate::extension;
use crate::faults::Step;
use crate::name::DatasetName;
use crate::root::split;
use crate::store::Shared;

pub(crate) fn delete(shared: &Shared, name: &DatasetName) -> Result<(), StoreError> {
    let writing = shared.writing(name)?;
    let path = shared.resolve(name)?;
    let path = path.as_str();
    let (bare, _) = extension::split(path).expect("only paths with an extension are resolved");
    let locked = writing.locks.lock(bare);
    let _lock = locked.map_err(StoreError::io(name, "locking its name"))?;

    let (folder, file_name) = split(path);
    let folder = shared.root.folder(folder).map_err(StoreError::io(name, "opening its folder"))?;
    shared.root.faults.at(Step::Unlink).map_err(StoreError::io(name, "deleting its file"))?;
    match rustix::fs::unlinkat(&folder, file_name, AtFlags::empty()) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Err(StoreError::not_found(name)),
        Err(errno) => return Err(StoreError::io(name, "deleting its file")(errno.into())),
    }
    shared.catalogue.forget(path);
    writing.entries.remove(&Entries::key(path));
    shared
        .root
        .sync_folders(&[folder])
        .map_err(StoreError::io(name, "bringing its folder to stable storage"))
}
